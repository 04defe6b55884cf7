//! The shapes of MCP 2025-11-25, held against the models by which MCP's SDK for Python reads payloads of this revision.
//!
//! The SDK reads each payload twice: with a model of this revision, and then with a public one for all revisions. It does
//! so in pydantic's default mode, which converts texts to numbers, for instance. The script does the same. In addition,
//! it says whether a value is accepted if nothing is converted.

use mcp_protocol_machine::protocol::position;
use mcp_protocol_machine::shape::ShapeMismatch;
use mcp_protocols::mcp_2025_11_25::PROTOCOL;

use super::peers::{BAD, Case, GOOD, Tally, input, python};
use super::random::{Random, changed, value};
use super::*;

/// The models whose shapes are called otherwise. `FooRequestParams` and `FooNotificationParams` are `FooParams`.
const RENAMED: [(&str, &str); 43] = [
    ("AnyOfItem", "TitledChoice"),
    ("Argument", "CompletionArgument"),
    ("BaseMetadata", "Named"),
    ("CancelTaskResult", "TaskResult"),
    ("Context", "CompletionContext"),
    ("ElicitRequestFormParams", "ElicitFormParams"),
    ("ElicitRequestURLParams", "ElicitUrlParams"),
    ("Elicitation", "ElicitationCapability"),
    ("Elicitation1", "ElicitationTaskRequests"),
    ("GetTaskPayloadResult", "TaskPayload"),
    ("GetTaskResult", "TaskResult"),
    ("InputSchema", "ObjectSchema"),
    ("Items", "TitledEnumItems"),
    ("Items1", "UntitledEnumItems"),
    ("LegacyTitledEnumSchema", "EnumSchema"),
    ("Meta", "RequestMeta"),
    ("OneOfItem", "TitledChoice"),
    ("OutputSchema", "ObjectSchema"),
    ("Params", "TaskParams"),
    ("Params1", "ElicitationCompleteParams"),
    ("Params2", "TaskParams"),
    ("Params3", "TaskParams"),
    ("PrimitiveSchemaDefinition", "FieldSchema"),
    ("Prompts", "PromptsCapability"),
    ("ReadResourceRequestParams", "ResourceParams"),
    ("RequestedSchema", "FormSchema"),
    ("Requests", "ClientTaskRequests"),
    ("Requests1", "ServerTaskRequests"),
    ("ResourceContents", "ResourceOrigin"),
    ("Resources", "ResourcesCapability"),
    ("Result", "EmptyResult"),
    ("Roots", "RootsCapability"),
    ("Sampling", "SamplingCapability"),
    ("Sampling1", "SamplingTaskRequests"),
    ("SamplingMessageContentBlock", "SamplingContentBlock"),
    ("SubscribeRequestParams", "ResourceParams"),
    ("Tasks", "ClientTasksCapability"),
    ("Tasks1", "ServerTasksCapability"),
    ("TitledSingleSelectEnumSchema", "TitledEnumSchema"),
    ("Tools", "ToolsTaskRequests"),
    ("Tools1", "ToolsCapability"),
    ("UnsubscribeRequestParams", "ResourceParams"),
    ("UntitledSingleSelectEnumSchema", "EnumSchema"),
];

/// The models without a shape, in addition to those of messages: parts of messages, parts that our shapes spread or
/// name otherwise, and unions of messages or of parts.
const WITHOUT_SHAPE: [&str; 16] = [
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "Cursor",
    "Data",
    "EnumSchema",
    "Error",
    "Error1",
    "RelatedTaskMetadata",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "SingleSelectEnumSchema",
    "TaskAugmentedRequestParams",
    "TitledMultiSelectEnumSchema",
    "UntitledMultiSelectEnumSchema",
];

const NULL: &str =
    "`null` for a member that may be absent: the SDK reads it as absent, a shape has it if it says so";
const CONVERTED: &str = "the SDK converts texts, numbers, and `true` and `false`";
const BOUNDS: &str = "the SDK checks the bounds of a priority, which no shape says";
const URL: &str = "the SDK parses the URI of a root, which is any text for a shape";
const WHOLE: &str = "3.0 is not a whole number for the SDK in an id; in JSON it is one";
const FIELD: &str =
    "the SDK accepts anything as a field of a form; the specification lists the kinds of fields";
const FILLED_IN: &str =
    "the SDK accepts `null` as what is filled into a field; the specification has no such value";
const EARLIER: &str = "another alternative ignores the member that decides which alternative the value is";
const META: &str = "the SDK does not look at the `_meta` of these params, which every message may have";
const RESULT: &str =
    "the SDK accepts any object as the result of a task; the shape is that of what the task returns";

/// The shape of a model, if it is a payload or a part of one.
fn shape_of(model: &str) -> Option<&'static Shape> {
    let renamed = RENAMED.iter().find(|(of, _)| *of == model).map(|(_, name)| (*name).to_owned());
    let name = renamed.unwrap_or_else(|| match model {
        "NotificationParams" | "RequestParams" => model.to_owned(),
        _ => model.replace("NotificationParams", "Params").replace("RequestParams", "Params"),
    });
    let is_left_out = WITHOUT_SHAPE.contains(&model) || is_message(model);
    PROTOCOL.shape_by_name(&name).map(|(_, named)| &named.shape).filter(|_| !is_left_out)
}

fn is_message(model: &str) -> bool {
    model.ends_with("Request")
        || model.ends_with("Notification")
        || model.starts_with("JSONRPC")
        || model == "URLElicitationRequiredError"
}

/// What the SDK says of a value.
struct Verdict {
    /// The kinds of its errors, as pydantic calls them.
    errors: Vec<String>,
    /// Whether it would accept it if nothing were converted.
    strictly: bool,
}

impl Verdict {
    fn read(tree: &Tree) -> Verdict {
        let errors = tree.get("errors").unwrap().elements().iter().filter_map(Tree::as_text);
        Verdict {
            errors: errors.map(str::to_owned).collect(),
            strictly: tree.get("strictly") == Some(&Tree::Bool(true)),
        }
    }

    fn accepts(&self) -> bool {
        self.errors.is_empty()
    }

    /// Why the SDK refuses what the shape accepts.
    fn why_refused(&self) -> Option<&'static str> {
        let has = |kinds: [&str; 2]| self.errors.iter().any(|error| kinds.contains(&&**error));
        let kinds = [
            (["greater_than_equal", "less_than_equal"], BOUNDS),
            (["url_parsing", "url_scheme"], URL),
            (["int_type", "string_type"], WHOLE),
        ];
        kinds.into_iter().find(|(errors, _)| has(*errors)).map(|(_, kind)| kind)
    }
}

/// Of which kind the verdicts of both are. What the SDK accepts and the shape does not is mended, mismatch by mismatch,
/// until the shape accepts it: so each mismatch is explained, and the first one names the kind.
fn kind_of((model, value): &Case, shape: &Shape, verdict: &Verdict) -> Option<&'static str> {
    let (mut value, mut first) = (value.clone(), None);
    for _ in 0..100 {
        let mismatch = match judge(&PROTOCOL, shape, &&value) {
            Ok(()) if verdict.accepts() => return first.or(Some(GOOD)),
            Ok(()) => return verdict.why_refused(),
            Err(_) if !verdict.accepts() => return Some(BAD),
            Err(mismatch) => mismatch,
        };
        let path = mismatch.path.replace('[', ".").replace(']', "");
        let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        let (kind, place, mended) = explained(model, &value, &mismatch, &steps, verdict)?;
        mend(&mut value, place, mended)?;
        first = first.or(Some(kind));
    }
    None
}

/// Why the SDK accepts what is a mismatch for the shape; which place is to be mended, and what has to be there. Without
/// a value, it has to be absent.
fn explained<'s>(
    model: &str,
    value: &Tree,
    mismatch: &ShapeMismatch,
    steps: &'s [&'s str],
    verdict: &Verdict,
) -> Option<(&'static str, &'s [&'s str], Option<Tree>)> {
    let ShapeMismatch { expected, found, .. } = mismatch;
    // The place of a member of the `properties` of a schema, which is the value itself or has one of these names.
    let property = |models: &[&str], names: &[&str]| {
        let is_model = models.contains(&model) && steps.first() == Some(&"properties");
        let is_properties = |pair: &[&str]| names.contains(&pair[0]) && pair[1] == "properties";
        let inside = || steps.windows(2).position(is_properties).map(|place| place + 3);
        steps.get(..if is_model { 2 } else { inside()? })
    };
    let is_scalar =
        found.starts_with('"') || ["true", "false"].contains(&&**found) || found.parse::<f64>().is_ok();
    let is_converted = is_scalar && !verdict.strictly;
    if let Some(place) = property(&["RequestedSchema"], &["requestedSchema"]) {
        let field = Tree::Object(vec![("type".to_owned(), Tree::text("boolean"))]);
        return Some((FIELD, place, Some(field)));
    }
    if let Some(place) = property(&["InputSchema", "OutputSchema"], &["inputSchema", "outputSchema"]) {
        let mended = Some(Tree::Object(Vec::new()));
        return (is_converted && place == steps).then_some((CONVERTED, place, mended));
    }
    match steps {
        ["content", _] if model == "ElicitResult" && found == "null" => Some((FILLED_IN, steps, None)),
        ["enum" | "enumNames" | "oneOf", ..] if model == "PrimitiveSchemaDefinition" => {
            Some((EARLIER, &steps[..1], None))
        }
        ["enumNames", ..] if model == "UntitledSingleSelectEnumSchema" => Some((EARLIER, &steps[..1], None)),
        ["_meta", ..] if ["Params", "Params1", "Params2", "Params3"].contains(&model) => {
            Some((META, &steps[..1], None))
        }
        [first, ..] if model == "GetTaskPayloadResult" && *first != "_meta" => {
            Some((RESULT, &[], Some(Tree::Object(Vec::new()))))
        }
        // Its words decide which alternative it is, so that the mismatch is in the whole.
        [] if model == "PrimitiveSchemaDefinition" && value.get("format") == Some(&Tree::Null) => {
            Some((NULL, &["format"], None))
        }
        [.., _] if found == "null" => Some((NULL, steps, None)),
        _ if is_converted && expected.contains("number") => {
            Some((CONVERTED, steps, Some(Tree::Number("0".to_owned()))))
        }
        _ if is_converted && expected == "true or false" => Some((CONVERTED, steps, Some(Tree::Bool(true)))),
        _ => None,
    }
}

/// The value without what the SDK refuses and the shape accepts: priorities are within their bounds, whole numbers are
/// written without a fraction, and URIs begin with a scheme.
fn narrowed(value: &Tree) -> Tree {
    let of_member = |(key, value): &(String, Tree)| {
        let value = match value {
            Tree::Number(_) if key.to_lowercase().ends_with("priority") => Tree::Number("0.5".to_owned()),
            Tree::Text(_) if key == "uri" => Tree::text("file:///a"),
            other => narrowed(other),
        };
        (key.clone(), value)
    };
    match value {
        Tree::Object(members) => Tree::Object(members.iter().map(of_member).collect()),
        Tree::List(elements) => Tree::List(elements.iter().map(narrowed).collect()),
        Tree::Number(written) => Tree::Number(written.trim_end_matches(".0").to_owned()),
        other => other.clone(),
    }
}

/// What the SDK says of values.
fn verdicts(cases: &[Case]) -> Vec<Verdict> {
    let printed = python("validate", &input(None, cases));
    assert_eq!(printed.elements().len(), cases.len());
    printed.elements().iter().map(Verdict::read).collect()
}

/// Of which kinds the verdicts are.
fn tally(cases: &[Case]) -> Tally {
    let (mut tally, mut narrower) = (Tally::default(), Vec::new());
    for (case, verdict) in cases.iter().zip(verdicts(cases)) {
        let (model, value) = case;
        let shape = shape_of(model).unwrap();
        let kind = kind_of(case, shape, &verdict);
        if kind.is_some_and(|kind| [BOUNDS, URL, WHOLE].contains(&kind)) {
            narrower.push((model.clone(), narrowed(value)));
        }
        tally.add(kind, || {
            format!("{model}: SDK {:?}, shape {:?}: {value}", verdict.errors, judge(&PROTOCOL, shape, &value))
        });
    }
    // Nothing else was in the way.
    for ((model, value), verdict) in narrower.iter().zip(verdicts(&narrower)) {
        assert!(verdict.accepts(), "{model}: {:?}: {value}", verdict.errors);
    }
    tally
}

/// Puts another value in a place, or takes away the member that is there.
fn mend(value: &mut Tree, steps: &[&str], mended: Option<Tree>) -> Option<()> {
    match (steps, value, mended) {
        ([], value, Some(mended)) => *value = mended,
        ([key], Tree::Object(members), None) => members.retain(|(name, _)| name != key),
        ([key, rest @ ..], Tree::Object(members), mended) => {
            let (_, member) = members.iter_mut().find(|(name, _)| name == key)?;
            mend(member, rest, mended)?;
        }
        ([place, rest @ ..], Tree::List(elements), mended) => {
            mend(elements.get_mut(position(place)?)?, rest, mended)?;
        }
        _ => return None,
    }
    Some(())
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers`, which `.ci/run` installs"]
fn payloads_of_mcp_have_the_shapes_that_its_models_have() {
    let schema = python("export_revision", "");
    let models = Tables::new(&read(&schema, "Root")).protocol;
    let (with_shape, without): (Vec<_>, Vec<_>) =
        models.shapes.iter().partition(|named| shape_of(&named.name).is_some());
    for named in without {
        assert!(WITHOUT_SHAPE.contains(&&*named.name) || is_message(&named.name), "{}", named.name);
    }
    // Every message with a payload of its own has a model.
    for message in PROTOCOL.messages.iter() {
        let Some(shape) = message.shape.and_then(|index| PROTOCOL.shape(index)) else { continue };
        let is_compared = with_shape.iter().any(|model| shape_of(&model.name) == Some(&shape.shape));
        assert!(is_compared, "{}: {}", message.name, shape.name);
    }

    let mut random = Random::new(5);
    let (mut made, mut mutated, mut own) = (Vec::new(), Vec::new(), Vec::new());
    while made.len() < 20_000 {
        for named in &with_shape {
            let made_value = value(&mut random, &models, &named.shape, 6);
            let own_value = value(&mut random, &PROTOCOL, shape_of(&named.name).unwrap(), 6);
            mutated.push((named.name.to_string(), changed(&mut random, &made_value)));
            mutated.push((named.name.to_string(), changed(&mut random, &own_value)));
            made.push((named.name.to_string(), made_value));
            own.push((named.name.to_string(), own_value));
        }
    }

    let (made, own, mutated) = (tally(&made), tally(&own), tally(&mutated));
    made.assert_explained(&[FIELD, FILLED_IN, URL, WHOLE]);
    assert!(made.count(GOOD) >= 10_000 && made.count(BAD) == 0, "{made:#?}");
    own.assert_explained(&[URL, WHOLE]);
    assert!(own.count(GOOD) >= 10_000 && own.count(BAD) == 0, "{own:#?}");
    let kinds = [NULL, CONVERTED, BOUNDS, URL, WHOLE, FIELD, FILLED_IN, EARLIER, META, RESULT];
    mutated.assert_explained(&kinds);
    assert!(mutated.count(GOOD) >= 5_000 && mutated.count(BAD) >= 10_000, "{mutated:#?}");
}
