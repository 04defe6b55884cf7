//! Random trees read back as themselves, and some layouts as they look.

use proptest::prelude::*;

use mcp_protocol_machine::protocol::{Dialect, Literal};

use crate::ast::*;
use crate::parser::{self, words};
use crate::source::{SourceMap, Span};

mod comments;

fn span() -> Span {
    Span::default()
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof!["[A-Z][a-zA-Z0-9_]{0,6}", "[a-z_][a-z0-9]{1,5}", "[αβγδé]"]
        .prop_filter("a name", |text| !words::is_reserved(text) && text != "_" && text != "null")
        .prop_map(|text| Name { text, span: span() })
}

fn revision() -> impl Strategy<Value = Revision> {
    let number = any::<u64>().prop_map(|number| Name { text: number.to_string(), span: span() });
    prop_oneof![
        text().prop_map(|name| Revision { name, is_number: false }),
        number.prop_map(|name| Revision { name, is_number: true })
    ]
}

/// A method, or a pattern, whose one `*` stands at its end.
fn method() -> impl Strategy<Value = Name> {
    (text(), any::<bool>()).prop_map(|(Name { text, span }, pattern)| {
        let text = text.replace('*', "") + if pattern { "*" } else { "" };
        Name { text, span }
    })
}

fn text() -> impl Strategy<Value = Name> {
    prop_oneof!["[a-z/]{0,12}", any::<String>()].prop_map(|text| Name { text, span: span() })
}

/// A key of an object, which may be called like a word of the language.
fn json_key() -> impl Strategy<Value = Name> {
    prop_oneof![
        name(),
        text(),
        prop::sample::select(&words::ITEMS[..]).prop_map(|text| Name { text: text.to_owned(), span: span() })
    ]
}

fn path() -> impl Strategy<Value = JsonPath> {
    prop::collection::vec(json_key(), 1..4).prop_map(|segments| JsonPath { segments, span: span() })
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    let whole = Just(JsonPath { segments: Vec::new(), span: span() });
    prop::option::of((prop_oneof![4 => path(), 1 => whole], prop::option::of(literal())).prop_map(
        |(path, literal)| Condition {
            path,
            literal: literal.map(|value| ConditionValue { value, span: span() }),
            span: span(),
        },
    ))
}

fn field() -> impl Strategy<Value = MessageField> {
    (name(), path()).prop_map(|(message, path)| MessageField { message, path })
}

fn announced_field() -> impl Strategy<Value = AnnouncedField> {
    prop_oneof![
        field().prop_map(AnnouncedField::Message),
        path().prop_map(|path| AnnouncedField::EachRequest { path, span: span() }),
    ]
}

/// The code behind `with error`.
fn error() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(any::<i64>())
}

/// Where capabilities are announced, and whether they are open until then.
fn announced_capabilities() -> impl Strategy<Value = (AnnouncedField, Option<Span>)> {
    (announced_field(), prop::option::of(Just(span()))).prop_map(|(field, open)| {
        let open = open.filter(|_| matches!(field, AnnouncedField::Message(_)));
        (field, open)
    })
}

fn rust_path() -> impl Strategy<Value = RustPath> {
    let texts = ["u8", "String", "a::b::C", "::a::B", "Vec<String>", "HashMap<String,Vec<a::B>>"];
    prop::sample::select(texts.to_vec()).prop_map(|text| RustPath { text: text.to_owned(), span: span() })
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::None),
        Just(Payload::Null(span())),
        any::<bool>().prop_map(|optional| Payload::Any { optional, span: span() }),
        (rust_path(), any::<bool>()).prop_map(|(path, optional)| Payload::Type { path, optional }),
        (payload_shape(), any::<bool>())
            .prop_map(|(shape, optional)| Payload::of_shape("", "", shape, optional)),
    ]
}

/// A payload as one of this message.
fn of(message: &Name, carries: &str, payload: Payload) -> Payload {
    match payload {
        Payload::Shape { shape, optional, .. } => Payload::of_shape(&message.text, carries, shape, optional),
        payload => payload,
    }
}

fn level() -> impl Strategy<Value = Level> {
    let direction = prop::option::of(prop_oneof![Just(LevelDirection::In), Just(LevelDirection::Out)]);
    (any::<bool>(), prop::option::of(text()), direction, prop::option::of(any::<i64>()))
        .prop_map(|(must, rule, direction, error)| Level { must, rule, direction, error, span: span() })
}

fn levels(least: usize) -> impl Strategy<Value = Vec<Level>> {
    prop::collection::vec(level(), least..3)
}

fn modifiers() -> impl Strategy<Value = Vec<Modifier>> {
    let of = prop::collection::vec(path(), 1..3);
    prop::collection::vec(
        prop_oneof![
            name().prop_map(Modifier::As),
            (name(), path(), condition(), any::<bool>()).prop_map(|(holder, path, condition, unless)| {
                let unless = unless && condition.is_some();
                Modifier::Requires { holder, path, condition, unless, span: span() }
            }),
            Just(Modifier::Answered(span())),
            any::<bool>().prop_map(|until_reply| Modifier::Cancellable { until_reply, span: span() }),
            (path(), prop::option::of(any::<i64>())).prop_map(|(id, reply_error)| Modifier::Cancels {
                id,
                reply_error,
                span: span()
            }),
            (path(), of).prop_map(|(token, of)| Modifier::Reports { token, of, span: span() }),
            path().prop_map(|path| Modifier::Grants { path, span: span() }),
            path().prop_map(|path| Modifier::Revokes { path, span: span() }),
            (path(), path()).prop_map(|(cursor, next)| Modifier::Pages { cursor, next, span: span() }),
            (name(), path(), path(), path(), path()).prop_map(|(reply, state, given, answers, questions)| {
                Modifier::Rounds { reply, state, given, answers, questions, span: span() }
            }),
            (prop::collection::vec(name(), 1..4), condition())
                .prop_map(|(requests, condition)| { Modifier::During { requests, condition, span: span() } }),
            levels(1).prop_map(Modifier::Levels),
        ],
        0..4,
    )
}

fn action() -> impl Strategy<Value = Action> {
    let message = prop_oneof![9 => name(), 1 => Just(Name { text: "reply".to_owned(), span: span() })];
    let levels = prop_oneof![4 => Just(Vec::new()), 1 => levels(1)];
    (any::<bool>(), message, levels).prop_map(|(send, message, levels)| Action {
        send,
        message,
        levels,
        span: span(),
    })
}

/// A choice as the parser makes it: a loop takes all that is to its right, `*` takes one atom.
fn choice() -> impl Strategy<Value = Choice> {
    let leaf = prop_oneof![
        Just(Tail::End(span())),
        name().prop_map(Tail::Name),
        name().prop_map(|name| Tail::Dual { name, span: span() }),
    ];
    let tail = leaf.prop_recursive(4, 24, 4, |inner| {
        let choice = choice_of(inner.clone()).boxed();
        let parts = prop::collection::vec(choice.clone(), 2..4);
        let atom = inner.prop_map(|tail| match tail {
            Tail::Recursion { .. } | Tail::Replicated(..) => grouped(tail),
            other => other,
        });
        prop_oneof![
            (name(), choice.clone()).prop_map(|(variable, body)| recursion(variable, body)),
            choice.prop_map(|choice| Tail::Group(Box::new(choice), span())),
            parts.prop_map(|parts| Tail::Parallel(parts, span())),
            atom.prop_map(|tail| Tail::Replicated(Box::new(tail), span())),
        ]
    });
    choice_of(tail)
}

fn choice_of(tail: impl Strategy<Value = Tail>) -> impl Strategy<Value = Choice> {
    let branch = (prop::collection::vec(action(), 0..4), tail);
    let operator = prop_oneof![Just(Operator::Internal), Just(Operator::External)];
    (prop::collection::vec(branch, 1..4), any::<bool>(), prop::collection::vec(operator, 4)).prop_map(
        |(branches, leading, operators)| {
            let last = branches.len() - 1;
            let branches = branches.into_iter().enumerate().map(|(index, (actions, tail))| {
                let open = index < last && matches!(tail, Tail::Recursion { .. });
                Sequence { actions, tail: if open { grouped(tail) } else { tail }, span: span() }
            });
            let operators =
                operators.into_iter().take(last + usize::from(leading)).map(|operator| (operator, span()));
            Choice { branches: branches.collect(), operators: operators.collect(), span: span() }
        },
    )
}

fn grouped(tail: Tail) -> Tail {
    let branch = Sequence { actions: Vec::new(), tail, span: span() };
    Tail::Group(Box::new(Choice { branches: vec![branch], operators: Vec::new(), span: span() }), span())
}

fn recursion(variable: Name, body: Choice) -> Tail {
    let parenthesised = match body.branches.as_slice() {
        [only] => {
            only.actions.is_empty() && matches!(only.tail, Tail::Group(..)) && body.operators.is_empty()
        }
        _ => false,
    };
    Tail::Recursion { variable, body: Box::new(body), parenthesised, span: span() }
}

fn documentation() -> impl Strategy<Value = Vec<String>> {
    let line = "[ a-zé.-]{0,20}".prop_map(|line: String| line.trim_end().to_owned());
    prop::collection::vec(line, 0..3)
}

fn declared_shape_name() -> impl Strategy<Value = Name> {
    let own = |name: &Name| {
        let word = name.text.as_str();
        !BUILT_IN.contains(&word) && word != "map" && boolean(word).is_none()
    };
    name().prop_filter("not a word of the language", own)
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        2 => text().prop_map(|text| text.text.into()),
        1 => any::<i64>().prop_map(Literal::from),
        1 => any::<bool>().prop_map(Literal::from),
    ]
}

/// A shape as the parser makes it.
fn shape() -> impl Strategy<Value = Shape> {
    let named = prop_oneof![
        prop::sample::select(&BUILT_IN[..]).prop_map(|text| Name { text: text.to_owned(), span: span() }),
        name().prop_filter("a map has a shape behind it", |name| name.text != "map"),
    ];
    let leaf = prop_oneof![
        named.clone().prop_map(ShapeKind::Named),
        (literal(), prop::option::of(name()))
            .prop_map(|(value, name)| ShapeKind::Literal(value, name.map(Box::new)))
    ];
    let kind = leaf.prop_recursive(4, 24, 4, move |inner| {
        let shape = inner.prop_map(|kind| Shape { kind, span: span() });
        let key = path().prop_map(|path| path.segments.into_iter().next().unwrap());
        let field = (documentation(), key, any::<bool>(), shape.clone()).prop_map(
            |(documentation, name, optional, shape)| {
                Member::Field(ShapeField { documentation, name, optional, shape })
            },
        );
        let spread = name().prop_filter("not what keeps the rest", |name| name.text != "rest");
        let member = prop_oneof![
            4 => field,
            1 => spread.prop_map(|name| Member::Spread { name, span: span() }),
            1 => Just(Member::Rest(span())),
        ];
        prop_oneof![
            shape.clone().prop_map(|shape| ShapeKind::List(Box::new(shape))),
            tuple(shape.clone()).prop_map(ShapeKind::Tuple),
            shape.clone().prop_map(|shape| ShapeKind::Map(Box::new(shape))),
            prop::collection::vec(shape, 2..5).prop_map(ShapeKind::Union),
            prop::collection::vec(member, 0..5).prop_map(ShapeKind::Record),
        ]
    });
    kind.prop_map(|kind| Shape { kind, span: span() })
}

/// Positions, all of them with labels or none, of which the last ones may be absent.
fn tuple(of: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Vec<TuplePosition>> {
    let key = path().prop_map(|path| path.segments.into_iter().next().unwrap());
    let positions = prop::collection::vec((key, documentation(), of), 0..5);
    (positions, any::<bool>(), 0..6usize, any::<bool>()).prop_map(
        |(positions, has_labels, required, has_rest)| {
            let last = positions.len().saturating_sub(1);
            let positions = positions.into_iter().enumerate();
            let positions = positions.map(|(place, (label, documentation, shape))| TuplePosition {
                documentation: if has_labels { documentation } else { Vec::new() },
                label: has_labels.then_some(label),
                optional: place >= required && !(has_rest && place > 0 && place == last),
                rest: (has_rest && place > 0 && place == last).then(span),
                shape,
            });
            positions.collect()
        },
    )
}

/// A shape that may stand in a payload: a record, or another one whose names the language has.
fn payload_shape() -> impl Strategy<Value = Shape> {
    let kind = |kind| Shape { kind, span: span() };
    let built_in = prop::sample::select(&BUILT_IN[..])
        .prop_map(move |text| kind(ShapeKind::Named(Name { text: text.to_owned(), span: span() })));
    let literal = || {
        (literal(), prop::option::of(name()))
            .prop_map(move |(value, name)| kind(ShapeKind::Literal(value, name.map(Box::new))))
    };
    let of = built_in.clone();
    prop_oneof![
        4 => record(),
        1 => literal(),
        1 => of.clone().prop_map(move |of| kind(ShapeKind::List(Box::new(of)))),
        1 => tuple(of.clone()).prop_map(move |positions| kind(ShapeKind::Tuple(positions))),
        1 => of.prop_map(move |of| kind(ShapeKind::Map(Box::new(of)))),
        1 => prop::collection::vec(prop_oneof![built_in, literal()], 2..12).prop_map(move |parts| kind(ShapeKind::Union(parts))),
    ]
}

/// A shape that is a record.
fn record() -> impl Strategy<Value = Shape> {
    prop::collection::vec((path(), any::<bool>(), shape()), 0..4).prop_map(|fields| {
        let fields = fields.into_iter().map(|(path, optional, shape)| {
            let name = path.segments.into_iter().next().unwrap();
            Member::Field(ShapeField { documentation: Vec::new(), name, optional, shape })
        });
        Shape { kind: ShapeKind::Record(fields.collect()), span: span() }
    })
}

fn item() -> impl Strategy<Value = Item> {
    let mark = || prop::option::of(Just(span()));
    let reply = (name(), payload(), condition()).prop_map(|(name, payload, condition)| Reply {
        payload: of(&name, "Result", payload),
        name,
        condition,
    });
    let operator =
        prop_oneof![Just(GroupOperator::Define), Just(GroupOperator::Add), Just(GroupOperator::Remove)];
    let member = prop_oneof![
        name().prop_map(GroupMember::Name),
        name().prop_map(|name| GroupMember::Replies(name, span()))
    ];
    let place = prop_oneof![
        field().prop_map(KeyFieldPlace::Field),
        name().prop_map(KeyFieldPlace::Id),
        prop_oneof![(name(), Just(false)), (json_key(), Just(true))]
            .prop_filter("not the id", |(member, _)| member.text != "id")
            .prop_flat_map(|(member, quoted)| name()
                .prop_map(move |of| { KeyFieldPlace::Member { member: member.clone(), quoted, of } })),
    ];
    let way = prop_oneof![Just(LevelDirection::Out), Just(LevelDirection::In)];
    let only = prop::option::of(prop::option::of(way));
    let key = (mark(), place).prop_map(|(open, place)| KeyField { open, place });
    let side = prop_oneof![Just(RoleSide::Client), Just(RoleSide::Server)];
    let dialect = prop_oneof![Just(Dialect::WithoutJsonrpc), Just(Dialect::Version1)];
    let envelope = (mark(), mark(), dialect, mark()).prop_map(|(batch, place, dialect, reuses_ids)| {
        Envelope { batch, dialect: place.map(|place| (place, dialect)), reuses_ids }
    });
    let kind =
        prop_oneof![
            (name(), prop::option::of(revision()), envelope)
                .prop_map(|(name, version, envelope)| ItemKind::Protocol { name, version, envelope }),
            rust_path().prop_map(ItemKind::Types),
            (declared_shape_name(), shape()).prop_map(|(name, body)| ItemKind::Shape { name, body }),
            text().prop_map(ItemKind::Import),
            (name(), method(), condition(), payload(), prop::collection::vec(reply, 1..3), modifiers())
                .prop_map(|(name, method, condition, payload, replies, modifiers)| {
                    let payload = of(&name, "Params", payload);
                    ItemKind::Request(Request { name, method, condition, payload, replies, modifiers })
                }),
            (name(), method(), condition(), payload(), modifiers()).prop_map(
                |(name, method, condition, payload, modifiers)| {
                    let payload = of(&name, "Params", payload);
                    ItemKind::Notification(Notification { name, method, condition, payload, modifiers })
                }
            ),
            (name(), announced_capabilities(), prop::collection::vec(path(), 0..9), error()).prop_map(
                |(role, (field, open), defaults, error)| {
                    let error = error.filter(|_| matches!(field, AnnouncedField::EachRequest { .. }));
                    ItemKind::Capabilities { role, field, open, defaults, error }
                }
            ),
            (announced_field(), error()).prop_map(|(field, error)| {
                let error = error.filter(|_| matches!(field, AnnouncedField::EachRequest { .. }));
                ItemKind::Version { field, error }
            }),
            (name(), operator, prop::collection::vec(member, 1..30))
                .prop_map(|(name, operator, members)| ItemKind::Group { name, operator, members }),
            (mark(), name(), prop::collection::vec(key, 1..9))
                .prop_map(|(open, name, fields)| ItemKind::Key { open, name, fields }),
            (side, name(), prop::option::of(choice()), mark())
                .prop_map(|(side, name, body, compatible)| ItemKind::Role { side, name, body, compatible }),
            (prop::option::of(name()), name(), only, levels(0), choice()).prop_map(
                |(role, name, only, levels, body)| {
                    let only = only.map(|direction| OnlyMark { span: span(), direction });
                    ItemKind::Definition { role, name, only, levels, body }
                }
            ),
        ];
    (documentation(), mark(), kind).prop_map(|(documentation, overrides, kind)| Item {
        documentation,
        overrides,
        kind,
        span: span(),
    })
}

/// The debug text of a tree without its places.
fn without_places(tree: &File) -> String {
    let text = format!("{:?}", tree.items);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span {") {
        out.push_str(&rest[..at]);
        let behind = &rest[at..];
        rest = &behind[behind.find('}').unwrap_or(0) + 1..];
    }
    out + rest
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(items in prop::collection::vec(item(), 0..6)) {
        let tree = File { items, ..File::default() };
        let written = super::file(&tree);
        let mut sources = SourceMap::new();
        let file = sources.add("test.session", written.as_str());
        let (again, diagnostics) = parser::parse(&sources, file);
        prop_assert!(diagnostics.is_empty(), "{}\n{:?}", written, diagnostics);
        prop_assert_eq!(without_places(&again), without_places(&tree), "{}", written);
        for line in written.lines().filter(|line| !line.contains('"')) {
            prop_assert_eq!(line.trim_end(), line);
        }
        prop_assert_eq!(super::file(&again), written);
    }
}

#[test]
fn layouts() {
    let text = "protocol   Mcp \"1\" import \"a\"\n\n\ntypes a::b\nrequest  ToolsCall \"tools/call\"(CallToolParams?)->ToolsResult(CallToolResult)|TaskCreated(_) if task as call_tool requires server.tools cancellable\n\
        notification N \"n\"\n--- Active.\nActive = rec α . (!ToolsCall . ?ToolsResult . α (+) !ResourcesRead . ?ResourcesResult . α (+) ?ToolsListChanged . α (+) End)\n\
        Short = !X.End\nSides [should \"L5\"] = (*( !ClientRequest . ?reply . End ), *( ?ServerRequest . !reply . End ), *Subscription, *Another)\n\
        Long = !Initialize . ?InitializeResult . !Initialized . !Initialize . ?InitializeResult . !Initialized . !Again . End\n\
        group Everything = ToolsCall | ToolsList | ResourcesRead | ResourcesList | PromptsGet | PromptsList | Ping | Complete";
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    let (tree, diagnostics) = parser::parse(&sources, file);
    assert_eq!(diagnostics, []);
    insta::assert_snapshot!(super::file(&tree));
}

#[test]
fn a_tree_that_needs_parentheses_gets_them() {
    let name = |text: &str| Name { text: text.to_owned(), span: span() };
    let alone = |tail: Tail| Choice {
        branches: vec![Sequence { actions: Vec::new(), tail, span: span() }],
        operators: Vec::new(),
        span: span(),
    };
    let looping = recursion(name("x"), alone(Tail::Name(name("x"))));
    assert_eq!(super::tail(&Tail::Replicated(Box::new(looping.clone()), span())), "*( rec x . x )");
    let mut choice = alone(looping);
    choice.branches.push(Sequence { actions: Vec::new(), tail: Tail::End(span()), span: span() });
    assert_eq!(super::choice(&choice), "( rec x . x ) ⊕ End");
}
