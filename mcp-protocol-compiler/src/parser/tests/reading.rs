//! What must be read.

use super::correct;
use crate::ast::{
    Choice, Envelope, GroupMember, GroupOperator, Item, ItemKind, JsonPath, KeyFieldPlace, LevelDirection,
    Modifier, Operator, Payload, Tail,
};
use crate::format;

/// The body of the only definition.
fn body(text: &str) -> Choice {
    let tree = correct(text);
    let [Item { kind: ItemKind::Definition { body, .. }, .. }] = tree.items.as_slice() else {
        panic!("not one definition: {tree:?}")
    };
    body.clone()
}

/// The only definition's body as canonical text.
fn read(text: &str) -> String {
    format::choice(&body(&format!("A = {text}")))
}

#[test]
fn spellings() {
    assert_eq!(read("!X.End(+)?Y.End"), "!X . End ⊕ ?Y . End");
    assert_eq!(read("(!X . A)(+)(!Y . A)"), "( !X . A ) ⊕ ( !Y . A )");
    assert_eq!(read("((+) !X . A (+) !Y . A)"), "( ⊕ !X . A ⊕ !Y . A )");
    for word in ["rec ", "μ", "μ ", "µ", "µ "] {
        assert_eq!(read(&format!("{word}X.!M.X")), "rec X . !M . X");
        assert_eq!(read(&format!("{word}α .\n  ( !M . α )")), "rec α . ( !M . α )");
    }
    assert_eq!(read("& ?X . A & ?Y . A"), "& ?X . A & ?Y . A");
    assert_eq!(read("(A, B,)"), "(A, B)");
    assert_eq!(read("(A,)"), "( A )");
    assert_eq!(read("*A"), "*A");
    assert_eq!(read("*dual A"), "*dual A");
    assert_eq!(read("*(A, *B)"), "*(A, *B)");
    assert_eq!(read("*S ⊕ !Shutdown . T"), "*S ⊕ !Shutdown . T");
    assert_eq!(read("!X . *S"), "!X . *S");
    assert_eq!(read("!X [should \"L5\" error -1] . End"), "!X [should \"L5\" error -1] . End");
    assert_eq!(read("!Größe2 . ?_x . β"), "!Größe2 . ?_x . β");
}

#[test]
fn a_line_break_is_a_space() {
    for text in [
        "type A = { a: string }",
        "group G = N | M",
        "group G += N",
        "key k = N.k | M.k",
        "client Guest = !N . End",
        "server Waiter = dual Guest",
        "request N \"n\" -> R",
        "protocol Shop \"1\"",
    ] {
        assert_eq!(
            format::file(&correct(text)),
            format::file(&correct(&text.replacen(' ', "\n", 1))),
            "{text}"
        );
    }
}

#[test]
fn a_loop_takes_everything_to_its_right() {
    let choice = body("A = !X . rec α . ( !Y . α ) ⊕ End");
    let [branch] = choice.branches.as_slice() else { panic!("{choice:?}") };
    let Tail::Recursion { body, parenthesised, .. } = &branch.tail else { panic!("{branch:?}") };
    assert_eq!((body.branches.len(), *parenthesised), (2, false));
    assert_eq!(
        body.operators.iter().map(|(operator, _)| *operator).collect::<Vec<_>>(),
        [Operator::Internal]
    );

    let choice = body_of_loop("A = rec α . ( !Y . α ⊕ End )");
    assert!(choice);
    assert!(!body_of_loop("A = rec α . !Y . α"));
}

/// Whether the loop that a definition is has its body in parentheses.
fn body_of_loop(text: &str) -> bool {
    match &body(text).branches[0].tail {
        Tail::Recursion { parenthesised, .. } => *parenthesised,
        other => panic!("{other:?}"),
    }
}

#[test]
fn definitions_need_no_separator() {
    let tree = correct("A = !X . B B = ?Y . (C, D) C = rec x . x D [must] = End R::E = dual A F=A");
    assert_eq!(tree.items.len(), 6);
    // A name that resembles an item word is a name where a name can stand.
    let tree = correct("A = !X .\n  Keys B = End\nC = !X .\n  Request\nrequest R \"r\" -> S");
    assert_eq!(tree.items.len(), 4);
}

#[test]
fn spans_reach_from_the_first_to_the_last_token() {
    let text = "--- doc\noverride A = !X . (B, C)  -- end\n";
    let tree = correct(text);
    let span = tree.items[0].span;
    assert_eq!(&text[span.start as usize..span.end as usize], "override A = !X . (B, C)");
    let ItemKind::Definition { body, .. } = &tree.items[0].kind else { panic!() };
    assert_eq!(&text[body.span.start as usize..body.span.end as usize], "!X . (B, C)");
}

#[test]
fn documentation() {
    let tree = correct("--- one\n---   two \n---\n---- four dashes\n-- two\n---five\nA = End\n\nB = End");
    assert_eq!(tree.items[0].documentation, ["one", "  two", "", "five"]);
    assert!(tree.items[1].documentation.is_empty());
}

#[test]
fn declarations() {
    let tree = correct(
        "protocol Mcp \"2025-03-26\" batch\n\
         types tower_mcp_types::protocol\n\
         import \"other.session\"\n\
         request ToolsCall \"tools/call\" if task (CallToolParams) -> ToolsResult (a::b::T) | TaskCreated (T?) if task\n\
         \x20  as call_tool requires server.tools if mode = \"url\" requires server.x.\"y/z\" unless mode cancellable answered [should \"L5\" in, must out error -3]\n\
         notification Progress \"n/p\" (_?) reports progressToken of _meta.\"io.x/y\" | other\n\
         notification Cancelled \"n/c\" (null) cancels request.id\n\
         notification Generic \"n/g\" (Vec<HashMap<String, ::a::B>>)\n\
         capabilities client = Initialize.capabilities default elicitation.form | \"a.b\".c\n\
         version = InitializeResult.protocolVersion\n\
         group G = A | replies B group G += | C group G -= D\n\
         key task = A.b.c | id of M | session of M | open \"x-y\" of N | \"id\" of M\n\
         open key uri = A.uri\n\
         client C compatible\n\
         server S = dual C\n",
    );
    let kinds: Vec<&ItemKind> = tree.items.iter().map(|item| &item.kind).collect();
    assert_eq!(kinds.len(), 16);
    let ItemKind::Request(request) = kinds[3] else { panic!() };
    assert_eq!(request.condition.as_ref().map(|when| when.path.segments[0].text.as_str()), Some("task"));
    assert_eq!(request.replies.len(), 2);
    assert!(request.replies[0].condition.is_none() && request.replies[1].condition.is_some());
    let [
        Modifier::As(_),
        Modifier::Requires { holder, condition, unless: false, .. },
        Modifier::Requires { condition: Some(other), unless: true, .. },
        Modifier::Cancellable { until_reply: false, .. },
        Modifier::Answered(_),
        Modifier::Levels(levels),
    ] = request.modifiers.as_slice()
    else {
        panic!("{:?}", request.modifiers)
    };
    assert_eq!(holder.text, "server");
    let value = condition.as_ref().and_then(|when| when.literal.as_ref()).map(|literal| &literal.value);
    assert_eq!(value, Some(&"url".into()));
    assert!(other.literal.is_none());
    assert_eq!((levels[0].must, levels[0].direction), (false, Some(LevelDirection::In)));
    assert_eq!((levels[1].must, levels[1].error), (true, Some(-3)));
    let ItemKind::Notification(progress) = kinds[4] else { panic!() };
    assert!(matches!(progress.payload, Payload::Any { optional: true, .. }));
    let [Modifier::Reports { of, .. }] = progress.modifiers.as_slice() else { panic!() };
    assert_eq!(of[0].segments[1].text, "io.x/y");
    let ItemKind::Notification(generic) = kinds[6] else { panic!() };
    let Payload::Type { path, .. } = &generic.payload else { panic!() };
    assert_eq!(path.text, "Vec<HashMap<String,::a::B>>");
    let ItemKind::Capabilities { defaults, .. } = kinds[7] else { panic!() };
    let keys = |path: &JsonPath| path.segments.iter().map(|key| key.text.clone()).collect::<Vec<_>>();
    assert_eq!(defaults.iter().map(keys).collect::<Vec<_>>(), [["elicitation", "form"], ["a.b", "c"]]);
    assert!(
        matches!(kinds[9], ItemKind::Group { members, .. } if matches!(members[1], GroupMember::Replies(..)))
    );
    assert!(matches!(kinds[11], ItemKind::Group { operator: GroupOperator::Remove, .. }));
    assert!(
        matches!(kinds[12], ItemKind::Key { fields, .. } if matches!(fields[1].place, KeyFieldPlace::Id(_)))
    );
    let ItemKind::Key { fields, .. } = kinds[12] else { panic!() };
    let member = |place: &KeyFieldPlace| match place {
        KeyFieldPlace::Member { member, of, .. } => Some((member.text.clone(), of.text.clone())),
        _ => None,
    };
    let members: Vec<_> = fields.iter().filter_map(|field| member(&field.place)).collect();
    assert_eq!(members, [("session".into(), "M".into()), ("x-y".into(), "N".into())]);
    assert!(fields[3].open.is_some() && matches!(fields[4].place, KeyFieldPlace::Id(_)));
    assert!(matches!(kinds[14], ItemKind::Role { compatible: Some(_), body: None, .. }));
    assert!(matches!(kinds[15], ItemKind::Role { body: Some(_), .. }));
}

#[test]
fn item_words_are_keys_of_json_paths() {
    correct(
        "notification A \"a\" cancels request.id requires client.server.key if\n  protocol.types = \"x\"",
    );
    correct("key k = A.version | B.group.if | C.\"\"");
    correct("capabilities client = A.default default if.default | unless.if\nB = End");
    correct("capabilities client = A.open open until announced default open.until\nopen key k = A.open");
    correct("capabilities client = A.open default open.until open until announced\nopen key k = A.open");
    correct(
        "notification A \"a\" requires client.unless.default unless unless requires own.if if if = \"x\"",
    );
    correct("notification A \"a\" during R | S if during.if = \"x\" during T requires own.during");
    correct("request R \"r\" -> A\n | B [should \"L1\"]\nrequest Q \"q\" -> A |\n  B [should \"L1\"]");
}

/// The lifecycle as it is usually written down, with comments behind branches.
#[test]
fn the_lifecycle_of_a_client_and_a_server() {
    let client = "McpClient =\n!Initialize .\n?InitializeResult .\n!Initialized .\nActiveClient\n\
        ActiveClient = rec α .\n\
        ( !ToolsCall . ?ToolsResult . α -- asked by the client\n\
        ⊕ !ResourcesRead . ?ResourcesResult . α -- so is this\n\
        ⊕ ?ToolsListChanged . α\n⊕ End ) -- over\n";
    let server = "McpServer =\n?Initialize .\n!InitializeResult .\n?Initialized .\nActiveServer\n\
        ActiveServer = rec α .\n( ?ToolsCall . !ToolsResult . α\n& !ToolsListChanged . α\n& End )\n";
    assert_eq!(correct(client).items.len(), 2);
    assert_eq!(correct(server).items.len(), 2);
    assert_eq!(correct(&format!("{client}{server}").replace('⊕', "(+)")).items.len(), 4);
    let channels = "McpSession = (RequestChannel, NotificationChannel)\n\
        RequestChannel =\n!Initialize . ?InitializeResult . !Initialized .\n\
        rec α . ( !AnyRequest . ?AnyResponse . α ) ⊕ End\n\
        NotificationChannel = rec α . ?AnyNotification . α\n";
    assert_eq!(correct(channels).items.len(), 3);
}

#[test]
fn what_follows_the_name_of_a_protocol() {
    let protocol = |text: &str| {
        let ItemKind::Protocol { version, envelope, .. } = correct(text).items.remove(0).kind else {
            panic!()
        };
        let version = version.map(|version| (version.name.text, version.is_number));
        let Envelope { batch, dialect, reuses_ids } = envelope;
        (version, [batch.is_some(), dialect.is_some(), reuses_ids.is_some()])
    };
    let text = |text: &str| Some((text.to_owned(), false));
    assert_eq!(protocol("protocol P"), (None, [false; 3]));
    assert_eq!(protocol("protocol P \"1\" batch"), (text("1"), [true, false, false]));
    let number = Some(("17".to_owned(), true));
    assert_eq!(protocol("protocol P 17 without jsonrpc"), (number, [false, true, false]));
    assert_eq!(protocol("protocol P without jsonrpc batch"), (None, [true, true, false]));
    assert_eq!(protocol("protocol P \"1\" reuses ids"), (text("1"), [false, false, true]));
    assert_eq!(protocol("protocol P reuses ids batch without jsonrpc"), (None, [true; 3]));
    assert_eq!(protocol("protocol P \"1\" jsonrpc \"1.0\""), (text("1"), [false, true, false]));
    assert_eq!(protocol("protocol P jsonrpc \"1.0\" batch"), (None, [true, true, false]));
    // It is not a word of the language.
    assert_eq!(protocol("protocol P\njsonrpc = !A . End"), (None, [false; 3]));
    let not_whole = |text: &str| super::parsed(text).2.len();
    for number in ["01", "1.0", "-1", "2025-03-26", "18446744073709551616"] {
        assert_eq!(not_whole(&format!("protocol P {number}")), 1, "{number}");
    }
}

#[test]
fn what_follows_a_named_variant_may_be_a_record() {
    correct("type A = 1 as One | \"two\" as Two | { three: 3 as Three | 4 } | {}\n");
}

#[test]
fn a_condition_may_be_called_as_what_declares_roles() {
    correct("A = rec A . ( ?A . End )\n\nnotification A \"\" if client\n");
}

#[test]
fn a_record_stands_behind_the_dots_of_a_rest() {
    for shape in [
        "[int, ...{ a: int }]",
        "[int, ...{}]",
        "[(int)?, ...{ ..rest }, ]",
        "[a: int, ...b: {}]",
        "[int, ...[{}]]",
    ] {
        let tree = correct(&format!("type A = {shape}"));
        assert!(matches!(tree.items.as_slice(), [Item { kind: ItemKind::Shape { .. }, .. }]), "{tree:?}");
        correct(&format!("notification A \"a\" ({shape})"));
        correct(&format!("type A = [int, {shape}, ...{{}}]\nA = !B . End"));
    }
}
