//! Single edits, and what is said of each.

use mcp_protocol_compiler::compat::{Change, PairVerdict};

use crate::{lines, rendered, verdict};

const NOTES: &str = "protocol Notes \"1\"
type Note = { text: string, mood?: \"calm\" | \"angry\", count: uint }
request Hello \"hello\" (_) -> Welcome (_)
request Add \"add\" (Note) -> Added (Note)
notification Changed \"changed\"
capabilities client = Hello.can
capabilities server = Welcome.can
client Author
server Archive = dual Author
Author = !Hello . ?Welcome . Open
Open = ( *( !Add . ?reply . End ), *( ?Changed . End ) )
";

fn with(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(NOTES.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

fn changed(edits: &[(&str, &str)]) -> Vec<String> {
    lines(NOTES, &with(edits))
}

#[test]
fn a_required_field_breaks_who_does_not_write_it() {
    // Both sides send a note: the client as params, the server as the result.
    assert_eq!(
        changed(&[("count: uint", "count: uint, author: string")]),
        [
            "old-new C0004 the old client may send `add` without `author`, where the new server expects a string",
            "new-old C0004 the old server may send the reply `Added` to `add` without `author`, where the new client \
             expects a string"
        ]
    );
    assert_eq!(changed(&[("count: uint", "count: uint, author?: string")]), [""; 0]);
}

#[test]
fn params_that_are_left_out_are_an_empty_list_for_a_receiver_that_takes_lists() {
    let chain = |params: &str| {
        format!(
            "protocol Chain \"1\"\nrequest Id \"id\" {params} -> Name (string)\nclient Wallet\nserver Node = dual Wallet\n\
             Wallet = *( !Id . ?reply . End )\n"
        )
    };
    let changed = |old: &str, new: &str| lines(&chain(old), &chain(new));
    assert_eq!(changed("", "([])"), [""; 0]);
    assert_eq!(changed("", "([string?])"), [""; 0]);
    assert_eq!(changed("([])", "([]?)"), [""; 0]);
    assert_eq!(
        changed("", "([string,])"),
        ["old-new C0004 the old client may send `id` without `[0]`, where the new server expects a string"]
    );
}

#[test]
fn types_that_narrow_break() {
    let sent = |edit: (&str, &str)| {
        let found = changed(&[edit]);
        let of_client = found.into_iter().filter(|line| line.contains("client may send"));
        of_client.collect::<Vec<_>>()
    };
    assert_eq!(
        sent(("text: string", "text: [string]")),
        [
            "old-new C0004 the old client may send `add` with \"text\" in `text`, where the new server expects a list",
            "new-old C0004 the new client may send `add` with a list in `text`, where the old server expects a string"
        ]
    );
    assert_eq!(
        sent((" | \"angry\"", "")),
        [
            "old-new C0004 the old client may send `add` with \"angry\" in `mood`, where the new server expects \"calm\""
        ]
    );
    assert_eq!(
        sent((" | \"angry\"", " | \"angry\" | string")),
        [
            "new-old C0004 the new client may send `add` with \"text\" in `mood`, where the old server expects \
             \"calm\" or \"angry\""
        ]
    );
    assert_eq!(
        sent(("uint", "int")),
        [
            "old-new C0004 the old client may send `add` with 18446744073709551615 in `count`, where the new server \
             expects a whole number that an `i64` holds",
            "new-old C0004 the new client may send `add` with -1 in `count`, where the old server expects a whole \
             number that is not negative"
        ]
    );
    assert_eq!(
        sent(("count: uint", "count?: uint")),
        [
            "new-old C0004 the new client may send `add` without `count`, where the old server expects a whole number \
             that is not negative"
        ]
    );
}

#[test]
fn literals_that_are_not_texts_are_compared_by_their_values() {
    let notes = |note: &str| {
        format!(
            "protocol Notes \"1\"\ntype Note = {note}\nnotification Add \"add\" (Note)\nclient Author\n\
         server Archive = dual Author\nAuthor = *( !Add . End )\n"
        )
    };
    let changed = |old: &str, new: &str| lines(&notes(old), &notes(new));
    assert_eq!(
        changed("{ mood: 1 | 2 }", "{ mood: 1 | 2 | 3 }"),
        ["new-old C0004 the new client may send `add` with 3 in `mood`, where the old server expects 1 or 2"]
    );
    assert_eq!(
        changed("{ mood: 0 | -1 | 1 }", "{ mood: int }"),
        [
            "new-old C0004 the new client may send `add` with 2 in `mood`, where the old server expects 0, -1 or 1"
        ]
    );
    assert_eq!(
        changed("{ ok: true }", "{ ok: bool }"),
        ["new-old C0004 the new client may send `add` with false in `ok`, where the old server expects true"]
    );
    assert_eq!(changed("{ ok: true | false }", "{ ok: bool }"), [""; 0]);
    // `type` is 0 in the smallest value, which is one of those that the old server knows.
    let known = "{ type: 0, text: string } | { type: 1, text: string }";
    assert_eq!(
        changed(known, "{ type: int, text: string }"),
        [
            "new-old C0004 the new client may send `add` with -1 in `type`, where the old server expects 0 or 1"
        ]
    );
    let answers = "{ ok: true, text: string } | { ok: false, text: string }";
    assert_eq!(changed(answers, "{ ok: bool, text: string }"), [""; 0], "there is no third value");
}

/// What every file can do must not break because one more thing can be done.
const FIND: &str = "Open = ( *( !Find . ?reply . End ), *( !Add";

#[test]
fn a_new_request_breaks_unless_the_other_side_has_to_announce_it() {
    let find = |requires: &str| {
        let declared = format!("request Find \"find\" (_) -> Found (_) {requires}\nnotification Changed");
        changed(&[("notification Changed", &declared), ("Open = ( *( !Add", FIND)])
    };
    assert_eq!(
        find(""),
        ["new-old C0001 the new client may send `find`, which the old server does not know"]
    );
    assert_eq!(find("requires server.search"), [""; 0]);
    assert_eq!(find("requires peer.search"), [""; 0]);
    // The client decides by itself, and the old server was never asked.
    assert_eq!(
        find("requires own.search"),
        ["new-old C0001 the new client may send `find`, which the old server does not know"]
    );
}

#[test]
fn a_gate_that_closes_breaks() {
    assert_eq!(
        changed(&[("-> Added (Note)", "-> Added (Note) requires server.notes")]),
        [
            "old-new C0003 the new server accepts `add` only if it has announced `notes`, which the old client does \
             not ask for"
        ]
    );
}

#[test]
fn a_payload_that_a_gate_keeps_back_breaks_nothing() {
    let with_kind = "type Note = { text: string, mood?: \"calm\" | \"angry\", count: uint, kind?: \"list\" }";
    let old = with(&[("type Note = { text: string, mood?: \"calm\" | \"angry\", count: uint }", with_kind)]);
    let new = old.replace("kind?: \"list\"", "kind?: \"list\" | \"drawing\"");
    let gated =
        new.replace("-> Added (Note)", "-> Added (Note) requires server.drawings if kind = \"drawing\"");
    let of_client = |new: &str| {
        let found = lines(&old, new);
        found.into_iter().filter(|line| line.contains("client may send")).count()
    };
    assert_eq!((of_client(&new), of_client(&gated)), (1, 0));
}

#[test]
fn where_the_revision_stands() {
    let placed = |place: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Enter \"enter\" (_) -> Welcome (_)\nversion = {place}\nclient Guest\n\
             server Waiter = dual Guest\nGuest = !Enter . ?Welcome . End\n"
        )
    };
    let [once, other] = ["Welcome.version", "Welcome.revision"].map(placed);
    let [each, elsewhere, refused] =
        ["each request._meta.v", "each request.v", "each request._meta.v with error -32000"].map(placed);
    for same in [&once, &each] {
        assert!(lines(same, same).is_empty());
    }
    // The code of the error is for the client to read, whichever it is.
    assert!(lines(&each, &refused).is_empty());
    assert_eq!(
        lines(&once, &each),
        [
            "old-new C0006 the old client takes the revision from `Welcome.version`, and the new server from `_meta.v` of \
             each request",
            "new-old C0006 the new client takes the revision from `_meta.v` of each request, and the old server from \
             `Welcome.version`"
        ]
    );
    assert_eq!(
        lines(&each, &elsewhere)[0],
        "old-new C0006 the old client takes the revision from `_meta.v` of each request, and the new server from `v` of \
         each request"
    );
    assert_eq!(
        lines(&once, &other)[0],
        "old-new C0006 the old client takes the revision from `Welcome.version`, and the new server from \
         `Welcome.revision`"
    );
    let text = rendered(&each, &once);
    assert!(text.contains("in each request") && text.contains("in this message"), "{text}");
    let changed =
        |new: &str| verdict(&each, new).changes.into_iter().map(|change| change.text).collect::<Vec<_>>();
    assert!(
        changed(&once)[0].contains("was in `_meta.v` of each request, is in `Welcome.version`"),
        "{:?}",
        changed(&once)
    );
    assert!(changed(&refused)[0].contains("-32000"), "{:?}", changed(&refused));
}

#[test]
fn the_code_for_a_request_that_announces_too_little_is_a_change_that_breaks_nothing() {
    let placed = |error: &str| {
        format!(
            "protocol Shop \"2\"\nrequest Search \"search\" (_) -> Found (_)  requires client.wine\n\
             capabilities client = each request._meta.can{error}\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = *( !Search . ?Found . End )\n"
        )
    };
    let [old, new] = ["", " with error -32000"].map(placed);
    assert!(lines(&old, &new).is_empty());
    let changes = verdict(&old, &new).changes;
    assert!(
        changes[0].text.contains("`_meta.can` of each request, with error -32000"),
        "{:?}",
        changes[0].text
    );
}

#[test]
fn the_envelope_and_what_ties_messages() {
    assert_eq!(
        changed(&[("Notes \"1\"", "Notes \"1\" batch")]),
        [
            "old-new C0006 the new server may send batches, which the old client refuses",
            "new-old C0006 the new client may send batches, which the old server refuses"
        ]
    );
    let without = |side| format!("{side} writes messages without the member `jsonrpc`, which the old");
    assert_eq!(
        changed(&[("Notes \"1\"", "Notes \"1\" without jsonrpc")]),
        [
            format!("old-new C0006 {} client refuses", without("the new server")),
            format!("new-old C0006 {} server refuses", without("the new client"))
        ]
    );
    let version_1 = [("Notes \"1\"", "Notes \"1\" jsonrpc \"1.0\"")];
    assert_eq!(
        changed(&version_1),
        [
            "old-new C0006 the new server writes messages of JSON-RPC 1.0, which the old client refuses",
            "new-old C0006 the new client writes messages of JSON-RPC 1.0, which the old server refuses"
        ]
    );
    assert_eq!(
        changed(&[("Notes \"1\"", "Notes \"1\" reuses ids")]),
        [
            // The server sends no requests.
            "new-old C0006 the new client may use the id of an earlier request again, which the old server refuses"
        ]
    );
    assert_eq!(
        changed(&[("client = Hello.can", "client = Hello.capabilities")]),
        [
            "old-new C0006 the old client announces its capabilities in `Hello.can`, and the new server looks for them \
             in `Hello.capabilities`",
            "new-old C0006 the new client announces its capabilities in `Hello.capabilities`, and the old server looks \
             for them in `Hello.can`"
        ]
    );
    let cancel = "-> Added (Note) cancellable\nnotification Stop \"stop\" (_) cancels id";
    assert_eq!(
        changed(&[("-> Added (Note)", cancel)]),
        ["new-old C0005 `add` may be cancelled in another way for the new client than for the old server"]
    );
}

#[test]
fn a_notification_about_requests_that_the_receiver_does_not_know_breaks_where_it_may_come() {
    let progress =
        |of: &str| format!("notification Moved \"moved\" (_) reports token of {of}\nclient Author");
    let adding = |of: &str| [("client Author".to_owned(), progress(of))];
    let edited = |edits: &[(String, String)]| {
        let edits: Vec<_> = edits.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        changed(&edits)
    };
    assert_eq!(
        edited(&adding("text")),
        [
            "old-new C0005 the old client may send `add` with the `text` of a request that still runs, which the new \
             server refuses: it is a token",
            "old-new C0001 the new server may send `moved`, which the old client does not know"
        ]
    );
    // The old client does not write a token: the field is not in its shape, or is one that is never a token.
    assert_eq!(edited(&adding("token")), [""; 0]);
    let with_flag = ("count: uint".to_owned(), "count: uint, flag?: bool".to_owned());
    let [add] = adding("flag");
    assert_eq!(edited(&[with_flag, add]), [""; 0]);

    let cancel = |method: &str| {
        let declared = format!("-> Added (Note) cancellable\nnotification Stop \"{method}\" (_) cancels id");
        with(&[("-> Added (Note)", &declared)])
    };
    assert_eq!(
        lines(&cancel("stop"), &cancel("halt")),
        [
            "old-new C0001 the old client may send `stop`, which the new server does not know",
            "new-old C0001 the new client may send `halt`, which the old server does not know"
        ]
    );
    let pattern = cancel("$/stop").replace("client Author", "notification Any \"$/*\" (_)\nclient Author");
    let known = pattern.replace("*( ?Changed", "*( !Any . End ), *( ?Changed");
    let moved = known.replace("$/stop", "$/halt");
    assert_eq!(lines(&known, &moved), [""; 0]);
}

#[test]
fn a_payload_that_meets_its_condition_has_neither_null_nor_false_there() {
    let file = |loud: &str| {
        format!(
            "protocol Shop \"1\"\nnotification Ring \"ring\" if loud ({{ loud: {loud} }})\nclient Guest\n\
             server Waiter = dual Guest\nGuest = *( !Ring . End )\n"
        )
    };
    for loud in ["bool | null", "bool"] {
        assert_eq!(lines(&file(loud), &file("true")), [""; 0]);
    }
}

#[test]
fn a_condition_may_be_said_in_other_words() {
    let file = |done: &str, ok: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Order \"order\" (_) -> Done ({{ ok: {ok} }}) {done} | Failed ({{ ok: {ok}, why: string }})\n\
             client Guest\nserver Waiter = dual Guest\nGuest = *( !Order . ( ?Done . End & ?Failed . End ) )\n"
        )
    };
    for ok in ["bool", "true | null", "true", "bool | null"] {
        assert_eq!(lines(&file("if ok", ok), &file("if ok = true", ok)), [""; 0], "{ok}");
    }
    // What is said otherwise is another message where another value meets the condition, too.
    for ok in ["bool | 1", "any", "string"] {
        assert!(!lines(&file("if ok", ok), &file("if ok = true", "bool")).is_empty(), "{ok}");
    }
    // A condition that is written alike is the same, whatever the shapes are.
    assert_eq!(lines(&file("if ok", "any"), &file("if ok", "any")), [""; 0]);
}

#[test]
fn params_that_are_null_are_params_that_are_left_out() {
    let file = |params: &str| {
        format!(
            "protocol Shop \"1\"\nnotification Ring \"ring\" ({params})\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = *( !Ring . End )\n"
        )
    };
    assert_eq!(lines(&file("null"), &file("{ loud?: bool }")), [""; 0]);
    // Any JSON is a list, too.
    assert_eq!(
        lines(&file("_"), &file("{ loud?: bool }")),
        [
            "old-new C0004 the old client may send `ring` as a list, where the new server expects an object `RingParams`"
        ]
    );
    assert_eq!(
        lines(&file("null"), &file("{ loud: bool }")),
        [
            "old-new C0004 the old client may send `ring` without `loud`, where the new server expects true or false"
        ]
    );
}

#[test]
fn a_payload_that_is_read_as_a_message_that_needs_a_running_request_breaks() {
    let file = |messages: &str, sent: &str| {
        format!(
            "protocol Shop \"1\"\ntype Wish = {{ f?: true, g?: \"x\" | \"y\" }}\n\
             request Ask \"ask\" (_) -> Answer (_)\n{messages}client Guest\nserver Waiter = dual Guest\n\
             Guest = ( *( ?Ask . !reply . End ), *( !ByF . End ){sent} )\n"
        )
    };
    let by_f = "notification ByF \"wish\" if f (Wish)\n";
    let by_g = "notification ByG \"wish\" if g = \"x\" (Wish) during Ask\n";
    let old = file(by_f, "");
    let new = file(&format!("{by_g}{by_f}"), ", *( !ByG . End )");
    assert_eq!(
        lines(&old, &new),
        [
            "old-new C0003 the new server accepts `wish` if f only while `Ask` runs, which the old client does not wait \
             for",
            "new-old C0001 the new client may send `wish` if g = \"x\", which the old server does not know"
        ]
    );
}

#[test]
fn a_method_by_which_capabilities_are_granted_stands_for_the_same_ones() {
    let file = |wine: &str, verb: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Hello \"hello\" -> Welcome (_)\n\
             request Wine \"wine\" -> Bottle {wine}\nrequest Beer \"beer\" -> Glass requires server.beer\n\
             notification Now \"now\" (_) {verb} what\n\
             capabilities server = Welcome.can\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = !Hello . ?Welcome . ( *( !Wine . ?reply . End ), *( !Beer . ?reply . End ), *( ?Now . End ) )\n"
        )
    };
    let (wine, both) = ("requires server.wine", "requires server.wine requires server.beer");
    let text = |side: &str, other: &str, verb: &str| {
        format!("{side} may {verb} capabilities by the method `wine`, which stands for others for {other}")
    };
    // What the old server grants by `wine`, the new client takes for `beer`, too.
    let found = lines(&file(wine, "grants"), &file(both, "grants"));
    let expected = text("the old server", "the new client", "grant");
    assert!(found.contains(&format!("new-old C0005 {expected}")), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("the new server may grant")), "{found:?}");
    // What the new server has revoked by `wine`, the old client takes for granted.
    let found = lines(&file(wine, "revokes"), &file(both, "revokes"));
    let expected = text("the new server", "the old client", "revoke");
    assert!(found.contains(&format!("old-new C0005 {expected}")), "{found:?}");
    assert_eq!(lines(&file(wine, "grants"), &file(wine, "grants")), [""; 0]);
}

#[test]
fn a_part_that_is_granted_is_not_what_is_around_it() {
    let file = |capability: &str, verb: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Hello \"hello\" (_) -> Welcome (_)\n\
             notification Ring \"ring\" requires client.{capability}\nnotification Now \"now\" (_) {verb}\n\
             capabilities client = Hello.can\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = !Hello . ?Welcome . ( *( !Ring . End ), *( !Now . End ) )\n"
        )
    };
    let of_old_client = |verb: &str| {
        let found = lines(&file("bell.loud", verb), &file("bell", verb));
        found.into_iter().filter(|line| line.starts_with("old-new")).collect::<Vec<_>>()
    };
    assert_eq!(of_old_client(""), [""; 0]);
    assert_eq!(
        of_old_client("grants what"),
        [
            "old-new C0003 the new server accepts `ring` only if the old client has announced `bell`, which the old client \
             does not ask for"
        ]
    );
}

#[test]
fn what_is_granted_by_a_method_opens_new_messages_of_that_method() {
    let file = |declared: &str, channel: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Hello \"hello\" (_) -> Welcome (_)\n\
             request Wine \"wine\" if dry (_) -> Bottle requires client.wine\n{declared}\
             notification Now \"now\" (_) grants what\ncapabilities client = Hello.can\n\
             client Guest\nserver Waiter = dual Guest\n\
             Guest = ( *( !Hello . ?Welcome . End ), *( !Now . End ), *( ?Wine . !reply . End ){channel} )\n"
        )
    };
    let new = file(
        "request Sweet \"wine\" ({ dry?: bool }) -> Jug requires client.sweet\n",
        ", *( ?Sweet . !reply . End )",
    );
    // The old client grants `wine` by its method, which opens the gate of `Sweet` for the new server, too.
    let found = lines(&file("", ""), &new);
    let text = "old-new C0005 the old client may grant capabilities by the method `wine`, which stands for others for the \
                new server";
    assert!(found.iter().any(|line| line == text), "{found:#?}");
}

#[test]
fn what_one_side_alone_grants_matters_where_a_message_requires_it() {
    let file = |verb: &str, requires: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Hello \"hello\" (_) -> Welcome (_)\n\
             notification Ring \"ring\" {requires}\nnotification Now \"now\" (_) {verb}\n\
             capabilities client = Hello.can\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = !Hello . ?Welcome . ( *( ?Ring . End ), *( !Now . End ) )\n"
        )
    };
    let text = |which: &str, from: &str, to: &str| {
        format!("{which} `now` grants capabilities in another way for {from} than for {to}")
    };
    let required = "requires client.bell";
    // The old client does not grant what the new server may require then. The old server does not see what the new client
    // grants, and sends less.
    assert_eq!(
        lines(&file("", required), &file("grants what", required)),
        [text("old-new C0005", "the old client", "the new server")]
    );
    assert_eq!(lines(&file("", ""), &file("grants what", "")), [""; 0]);
}

#[test]
fn a_key_that_becomes_open_is_a_change_of_its_messages() {
    let file = |key: &str| {
        format!(
            "protocol Kitchen \"1\"\nrequest Watch \"watch\" (_) -> Watching (_)\n\
             notification Cooked \"cooked\" (_)\nrequest Forget \"forget\" (_) -> Forgotten\n\
             {key} dish = Watch.dish | Cooked.dish | Forget.dish\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = *Watched\nWatched = !Watch . ?Watching . Cooking\n\
             Cooking = ?Cooked . Cooking & !Forget . ?reply . End\n"
        )
    };
    let (old, new) = (file("key"), file("open key"));
    // Nothing is said of a server that waits for what the client may send: that is the second break again.
    assert_eq!(
        lines(&old, &new),
        [
            "old-new C0001 the new server may send `cooked`, which the old client accepts only in other states",
            "new-old C0001 the new client may send `forget`, which the old server accepts only in other states"
        ]
    );
    let text = "was correlated by `dish`, and now is correlated by `dish`, an open key";
    let changes = verdict(&old, &new).changes;
    assert_eq!(changes.iter().filter(|change| change.text == text).count(), 3);
}

#[test]
fn payloads_of_rust_are_compared_by_name() {
    let types = ("protocol Notes \"1\"\n", "protocol Notes \"1\"\ntypes crate::notes\n");
    let old = with(&[types, ("-> Welcome (_)", "-> Welcome (Old)")]);
    let new = old.replace("(Old)", "(New)");
    let found = verdict(&old, &new);
    assert!(found.is_compatible());
    assert_eq!(
        lines(&old, &new),
        [
            "old-new C0007 the new server writes `crate::notes::New` in the reply `Welcome` to `hello`, and the old \
             client reads `crate::notes::Old`: only the Rust types say whether that fits",
            "new-old C0007 the old server writes `crate::notes::Old` in the reply `Welcome` to `hello`, and the new \
             client reads `crate::notes::New`: only the Rust types say whether that fits"
        ]
    );
    assert_eq!(lines(&old, &old), [""; 0]);

    // As the help says: of shapes it is known.
    let help = "help: declare both as shapes (`type Name = { … }`) to have them compared";
    assert!(rendered(&old, &new).contains(help), "{}", rendered(&old, &new));
    let shape =
        |name: &str| ("types crate::notes\n", format!("type {name} = {{ text: string, can: any }}\n"));
    let declared = |file: &str, name: &str| file.replace(shape(name).0, &shape(name).1);
    assert_eq!(lines(&declared(&old, "Old"), &declared(&new, "New")), [""; 0]);
}

#[test]
fn a_shape_may_contain_itself() {
    let tree = with(&[("count: uint", "count: uint, parts?: [Note]")]);
    assert_eq!(lines(&tree, &tree), [""; 0]);
    let new = tree.replace("text: string", "text: string | null");
    let found = lines(&tree, &new);
    assert_eq!(found.len(), 2, "{found:?}");
    // Where the whole fits, what it contains fits.
    assert_eq!(lines(NOTES, &tree), [""; 0]);
}

#[test]
fn a_method_of_a_pattern_is_known() {
    let pattern = "notification Extension \"$/*\" (_?)\nnotification Changed";
    let old = with(&[("notification Changed", pattern), ("Open = ( ", "Open = ( *( !Extension . End ), ")]);
    let new = old
        .replace("notification Changed", "notification Music \"$/music\" (_)\nnotification Changed")
        .replace("Open = ( ", "Open = ( *( !Music . End ), ");
    assert_eq!(lines(&old, &new), [""; 0]);
}

#[test]
fn a_finding_has_the_exchange_and_both_files() {
    let new = with(&[
        ("Author = !Hello . ?Welcome . Open", "Author = !Hello . ?Welcome . !Login . ?reply . Open"),
        ("notification Changed", "request Login \"login\" -> LoggedIn\nnotification Changed"),
    ]);
    insta::assert_snapshot!(rendered(NOTES, &new));
}

#[test]
fn every_break_is_among_the_changes() {
    let file = |session: &str| {
        format!(
            "request Ask \"ask\" (_) -> Told (_)\nnotification Bye \"bye\" (_)\nclient C\nserver S = dual C\n{session}\n"
        )
    };
    let old = file("C = (Life, *( !Ask . ?reply . End ))\nLife = !Bye . End");
    let new = file("C = Life\nLife = !Ask . ?reply . !Bye . End");
    let verdict = verdict(&old, &new);
    let broken = |pair: &PairVerdict| pair.found.iter().filter(|found| found.is_error()).count();
    assert_eq!(verdict.pairs.iter().map(broken).collect::<Vec<_>>(), [1, 1]);
    for pair in &verdict.pairs {
        let is_of_pair = |change: &&Change| change.breaks.iter().any(|(client, _)| client.age == pair.client);
        let found = verdict.changes.iter().filter(is_of_pair).map(|change| change.text.as_str());
        assert_eq!(found.collect::<Vec<_>>(), [pair.found[0].diagnostic.message.as_str()]);
    }
}

/// A subscription whose last message is one with a condition, if there is one.
fn cooking(cooked: &str, last: &str, then: &str) -> String {
    format!(
        "protocol Kitchen \"1\"\nrequest Watch \"watch\" ({{ dish: string }}) -> Watching\n\
         notification Cooked \"cooked\" ({cooked})\n{last}\n\
         client Guest\nserver Cook = dual Guest\nGuest = *Watched\nWatched = !Watch . ?Watching . Cooking\n\
         Cooking = {then}\n"
    )
}

#[test]
fn a_payload_that_the_receiver_reads_as_another_message_breaks_where_that_leads_elsewhere() {
    let done = "notification Done \"cooked\" if done ({ dish: string, done: bool })";
    let one_key = "key dish = Watch.dish | Cooked.dish";
    let loops = |cooked: &str| cooking(cooked, one_key, "?Cooked . Cooking");
    let ends = |cooked: &str| {
        let last = format!("{done}\n{one_key} | Done.dish");
        cooking(cooked, &last, "?Cooked . Cooking & ?Done . End")
    };
    let may_be_done = "{ dish: string, done?: bool }";
    let of_old_cook = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| line.starts_with("new-old")).collect()
    };
    let found = of_old_cook(lines(&loops(may_be_done), &ends(may_be_done)));
    assert_eq!(
        found,
        ["new-old C0001 the old server may send `cooked`, which the new client accepts only in other states"]
    );
    let all = rendered(&loops(may_be_done), &ends(may_be_done));
    assert!(
        all.contains("3. the old server sends `cooked` if done, which the new client reads as `Done`"),
        "{all}"
    );
    assert!(!all.contains("the new client reads it as"), "`cooked` is what both have: {all}");
    // The old cook does not write `done`: it has no such field, or leaves open what else there is.
    for cooked in ["{ dish: string }", "{ dish: string, ..rest }", "_"] {
        assert_eq!(of_old_cook(lines(&loops(cooked), &ends(cooked))), [""; 0], "{cooked}");
    }
    // Where it leads to the same state, it does no harm.
    let reads = format!("{done}\n{one_key} | Done.dish");
    let reads = cooking(may_be_done, &reads, "?Cooked . Cooking & ?Done . Cooking");
    assert_eq!(of_old_cook(lines(&loops(may_be_done), &reads)), [""; 0]);
    // Unless the payload does not fit the message that it is read as.
    let found = of_old_cook(lines(&loops(may_be_done), &reads.replace("done: bool", "done: bool, at: uint")));
    assert_eq!(
        found,
        [
            "new-old C0004 the old server may send `cooked` without `at`, where the new client expects a whole number \
             that is not negative"
        ]
    );
    // A message that the receiver does not accept where it reads it.
    let later = cooking(may_be_done, &format!("{done}\n{one_key} | Done.dish"), "?Done . ?Cooked . Cooking");
    let first = cooking(may_be_done, one_key, "?Cooked . Cooking");
    assert!(!of_old_cook(lines(&first, &later)).is_empty());
}

#[test]
fn the_order_of_conditions_says_which_message_is_meant() {
    let orders = |first: &str, last: &str| {
        format!(
            "protocol Shop \"1\"\ntype Wish = {{ rush?: bool, gift?: bool }}\n\
             notification {first}\nnotification {last}\nnotification Leave \"leave\"\n\
             client Guest\nserver Waiter = dual Guest\nGuest = !Rush . End ⊕ !Gift . !Leave . End\n"
        )
    };
    let (rush, gift) = ("Rush \"order\" if rush (Wish)", "Gift \"order\" if gift (Wish)");
    let found = lines(&orders(rush, gift), &orders(gift, rush));
    assert_eq!(
        found,
        [
            "old-new C0001 the old client may send `order` if rush that the new server reads as `order` if gift, which \
             leads elsewhere",
            "new-old C0001 the new client may send `order` if gift that the old server reads as `order` if rush, which \
             leads elsewhere"
        ]
    );
    assert_eq!(lines(&orders(rush, gift), &orders(rush, gift)), [""; 0]);
}

#[test]
fn a_default_that_only_one_version_has_breaks_who_relies_on_it() {
    let asks = |default: &str, hello: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Hello \"hello\" ({hello}) -> Welcome (_)\n\
             request Say \"say\" -> Said  requires client.ask.aloud\n\
             request Write \"write\" -> Written  requires client.ask.writing\n\
             capabilities client = Hello.can {default}\nclient Guest\nserver Waiter = dual Guest\n\
             Guest = !Hello . ?Welcome . ( *( ?Say . !Said . End ), *( ?Write . !Written . End ) )\n"
        )
    };
    let any = |default: &str| asks(default, "_");
    let (aloud, writing) = (any("default ask.aloud"), any("default ask.writing"));
    // `{ "ask": {} }` is another capability for the peer.
    assert_eq!(
        lines(&aloud, &writing),
        [
            "old-new C0003 the new server may send `write` where the old client has announced `ask` and no part of it, \
             which for the old client is not `ask.writing`",
            "new-old C0003 the old server may send `say` where the new client has announced `ask` and no part of it, \
             which for the new client is not `ask.aloud`"
        ]
    );
    // Without a default there is no reason to announce `ask` alone, unless a shape has the field.
    assert_eq!(lines(&any(""), &aloud), [""; 0]);
    let shape = "{ can: { ask?: { aloud?: object, writing?: object } } }";
    assert_eq!(
        lines(&asks("", shape), &asks("default ask.aloud", shape)),
        [
            "old-new C0003 the new server may send `say` where the old client has announced `ask` and no part of it, \
             which for the old client is not `ask.aloud`"
        ]
    );
    let changes: Vec<Change> = verdict(&aloud, &writing).changes;
    let of_protocol = changes.iter().find(|change| change.text.contains("with the default"));
    assert_eq!(of_protocol.map(|change| change.breaks.len()), Some(2), "{changes:?}");
}

#[test]
fn a_gate_that_is_open_until_announced_for_the_sender_alone_breaks_what_comes_first() {
    let shop = |open: &str, guest: &str| {
        format!(
            "protocol Shop \"1\"\nrequest Offers \"offers\" (_) -> Offered (_)\n\
             notification Ring \"ring\"  requires server.bell\ncapabilities server = Offered.offers {open}\n\
             client Guest\nserver Waiter = dual Guest\nGuest = {guest}\n"
        )
    };
    let changed = |guest: &str| lines(&shop("", guest), &shop("open until announced", guest));
    assert_eq!(
        changed("(*( !Offers . ?Offered . End ), *( !Ring . End ))"),
        [
            "new-old C0003 the new client may send `ring` before the old server has announced its capabilities, and the \
             old server accepts it only after it has announced `bell`"
        ]
    );
    // Where the announcement comes first, no gate is open before it.
    assert_eq!(changed("!Offers . ?Offered . *( !Ring . End )"), [""; 0]);
}

/// A shop in which only conditions tell orders apart, and some of them have a gate.
fn orders(declared: &str, guest: &str) -> String {
    format!(
        "protocol Shop \"1\"\ntype Wish = {{ rush?: bool, gift?: bool }}\n\
         request Hello \"hello\" (_) -> Welcome (_)\n{declared}\n\
         capabilities client = Hello.can\ncapabilities server = Welcome.can\nclient Guest\nserver Waiter = dual Guest\n\
         Guest = (*( !Hello . ?Welcome . End ), {guest})\n"
    )
}

#[test]
fn a_payload_that_is_read_as_a_message_with_a_gate_breaks_where_the_sender_does_not_ask_for_it() {
    let (gift, rush) = (
        "notification Gift \"order\" if gift (Wish)",
        "notification Rush \"order\" if rush (Wish) requires client.rush",
    );
    let guest = "*( !Gift . End ), *( !Rush . End )";
    let (old, new) = (orders(&format!("{gift}\n{rush}"), guest), orders(&format!("{rush}\n{gift}"), guest));
    let found = lines(&old, &new);
    assert!(
        found.contains(
            &"old-new C0003 the old client may send `order` if gift that the new server reads as `order` if rush, for which \
              the old client has to announce `rush`, and the old client does not ask for it"
                .to_owned()
        ),
        "{found:#?}"
    );
}

#[test]
fn what_is_sent_while_a_gate_is_closed_is_compared_with_what_the_receiver_reads() {
    let plain = "notification Order \"order\" (Wish)";
    let gift = "notification Gift \"order\" if gift ({ gift: true, card: string })";
    let gated = format!("{gift} requires server.gifts");
    let guest = "*( !Gift . End ), *( !Order . End )";
    let of_new_client = |old: &str, new: &str| {
        let found = lines(&orders(old, guest), &orders(new, guest));
        found.into_iter().filter(|line| line.starts_with("new-old")).collect::<Vec<_>>()
    };
    // Without the capability, a gift is an order like others for the new client, and needs a card for the old server.
    let found = of_new_client(&format!("{gift}\n{plain}"), &format!("{gated}\n{plain}"));
    assert!(found.iter().any(|line| line.contains("C0004") && line.contains("`card`")), "{found:#?}");
    assert_eq!(of_new_client(&format!("{gated}\n{plain}"), &format!("{gated}\n{plain}")), [""; 0]);
}

#[test]
fn what_no_role_sends_names_capabilities_and_goes_ahead_of_nothing() {
    let guest = "*( !Order . End )";
    let unused = "notification Unused \"unused\" requires server.gifts";
    let ungated = "notification Order \"order\" (Wish)";
    // The old server may announce `gifts`, of which an unused message of its file speaks, and the new client may then order.
    let words = "notification Order \"order\" ({ rush?: bool, gift?: int }) requires server.gifts";
    let found =
        lines(&orders(&format!("{ungated}\n{unused}"), guest), &orders(&format!("{words}\n{unused}"), guest));
    assert!(found.iter().any(|line| line.starts_with("new-old C0004")), "{found:#?}");
    // The new file has `if gift` for a message that its client never sends: `gift` stands in an order, which the old server
    // reads as a gift.
    let gift = "notification Gift \"order\" if gift ({ gift: bool, card: string })";
    let old = orders(&format!("{gift}\n{ungated}"), "*( !Gift . End ), *( !Order . End )");
    let found = lines(&old, &orders(&format!("{gift}\n{ungated}"), guest));
    assert!(
        found.iter().any(|line| line.starts_with("new-old C0004") && line.contains("`card`")),
        "{found:#?}"
    );
}

#[test]
fn a_payload_whose_first_message_is_closed_is_read_as_the_one_without_a_condition() {
    let rest = "notification Gift \"order\" if gift ({ gift: bool, card: string })\n\
                notification Order \"order\" ({ gift?: bool, rush: bool })";
    let rush =
        "notification Rush \"order\" if card = \"red\" ({ gift: bool, card: string }) requires client.rush";
    let guest = "*( !Gift . End ), *( !Order . End )";
    let old = orders(&format!("{rush}\n{rest}"), &format!("*( !Rush . End ), {guest}"));
    // The new client does not know `rush`, so for the old server what it sends as a gift is an order, which needs `rush`.
    let found = lines(&old, &orders(rest, guest));
    assert!(
        found.iter().any(|line| line.starts_with("new-old C0004") && line.contains("`rush`")),
        "{found:#?}"
    );
}

#[test]
fn a_field_that_a_gate_looks_at_is_named() {
    let guest = "*( !Gift . End ), *( !Order . End )";
    let plain = |gate: &str| format!("notification Order \"order\" (_){gate}");
    let gift = "notification Gift \"order\" if gift ({ gift: bool, card: string })";
    let of_old_client = |gate: &str| {
        let old = orders(&plain(gate), "*( !Order . End )");
        let new = orders(&format!("{gift}\n{}", plain(gate)), guest);
        lines(&old, &new).into_iter().filter(|line| line.starts_with("old-new")).collect::<Vec<_>>()
    };
    assert_eq!(of_old_client(""), [""; 0]);
    let found = of_old_client(" requires client.rush unless gift");
    assert!(!found.is_empty(), "{found:#?}");
}

/// What a side may send before it announces, meets gates that are open until then.
#[test]
fn a_payload_is_read_as_a_message_whose_gate_is_open_until_the_announcement() {
    let file = |more: &str, session: &str, first: &str| {
        format!(
            "protocol P \"1\"\n\
             request Hello \"hello\" -> Welcome (_)\n\
             {more}\
             request Plain \"b\" ({{ g?: \"x\" | \"y\", h?: uint | null }}) -> PlainDone (_)\n\
             capabilities server = Welcome.can open until announced\n\
             client C\nserver S = dual C\n\
             C = {first}( *( ?Plain . !reply . End ){session} )\n"
        )
    };
    let more =
        "request Other \"b\" if g = \"y\" ({ g: \"y\", h?: uint }) -> OtherDone (_) requires server.ask\n";
    let old_server = |first: &str, last: &str| {
        let session = format!(", *( ?Other . !reply . End ){last}");
        let found = lines(&file("", last, first), &file(more, &session, first));
        found.into_iter().filter(|line| line.contains("the old server may send")).collect::<Vec<_>>()
    };
    assert_eq!(
        old_server("", ", *( !Hello . ?Welcome . End )"),
        [
            "new-old C0004 the old server may send `b` with null in `h`, where the new client expects a whole number that is \
          not negative"
        ]
    );
    assert_eq!(old_server("!Hello . ?Welcome . ", ""), [""; 0]);
}
