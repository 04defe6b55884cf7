//! Payload types that are generated from shapes: how they are made, written, read, and refused.

use mcp_runtime::RpcError;
use mcp_runtime::shapes::{Number, Object};
use mcp_runtime::transport::duplex;
use serde_json::{Value, from_value, json, to_value};

mod tools {
    mcp_runtime::protocol!("protocols/shapes.session");
}

use tools::types::{
    Checked, CheckedFalse, CheckedTrue, CheckedTrueStrict, Content, ContentValue, Dish, Format, ImageContent,
    Level, ListParams, Listing, Menu, MetaMeta, Mixed, Names, Order, Page, Priority, ProgressToken, Role,
    RunParams, RunResult, Status, Step, TextContent, Tool, ToolAnnotations, ToolAnnotationsHints,
    ToolAnnotationsTags, ToolKind,
};
use tools::{Buyer, Shop, server};

/// What a value is read as, and written again.
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) -> Value {
    to_value(from_value::<T>(value.clone()).unwrap()).unwrap()
}

/// What is said of a value that does not have its shape, as a value and as a text.
pub(super) fn error<T: serde::de::DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
    let of_value = from_value::<T>(value.clone()).unwrap_err().to_string();
    let of_text = serde_json::from_str::<T>(&value.to_string()).unwrap_err().to_string();
    // What is read from a text has its place in the text behind it.
    assert_eq!(of_text.split(" at line ").next(), Some(&*of_value));
    of_value
}

#[test]
fn a_record_is_made_of_what_it_must_have_and_set_for_the_rest() {
    let hints = [("a".to_owned(), ToolAnnotationsHints::new("b"))];
    let tool = Tool::new("saw", Object::new(), ToolKind::Hand)
        .title("Saw")
        .weight(1.5)
        .annotations(ToolAnnotations::new(hints).read_only(true).tags(["x".into(), 3.into()]))
        .parent(None)
        .parts([Tool::new("blade", Object::new(), ToolKind::Hand).weight(2)])
        .meta(MetaMeta::new().progress_token("t"));
    let written = json!({
        "name": "saw",
        "title": "Saw",
        "inputSchema": {},
        "annotations": { "readOnly": true, "tags": ["x", 3], "hints": { "a": { "text": "b" } } },
        "weight": 1.5,
        "kind": "hand",
        "parent": null,
        "parts": [{ "name": "blade", "inputSchema": {}, "kind": "hand", "weight": 2 }],
        "_meta": { "progressToken": "t" },
    });
    assert_eq!(to_value(&tool).unwrap(), written);
    assert_eq!(from_value::<Tool>(written).unwrap(), tool);
    assert_eq!(tool.annotations.unwrap().tags.unwrap()[1], ToolAnnotationsTags::Int(3));
    assert!(tool.weight < Some(Number::from(2)));
    // Nothing that was left out is written.
    let bare = Tool::new("saw", Object::new(), ToolKind::Power);
    assert_eq!(to_value(bare).unwrap(), json!({ "name": "saw", "inputSchema": {}, "kind": "power" }));
    assert_eq!(to_value(ListParams::default()).unwrap(), json!({}));
}

#[test]
fn members_that_are_not_known_are_kept_where_the_shape_says_so() {
    let listing = json!({ "tools": [], "nextCursor": "2", "extra": [1, { "a": null }] });
    assert_eq!(again::<Listing>(&listing), listing);
    let meta = json!({ "progressToken": 7, "example.org/trace": "x" });
    assert_eq!(again::<MetaMeta>(&meta), meta);
    let text = again::<TextContent>(&json!({ "type": "text", "text": "a", "extra": 1 }));
    assert_eq!(text, json!({ "type": "text", "text": "a" }));
}

#[test]
fn null_stays_null_where_it_is_a_value_and_is_absent_elsewhere() {
    let tool = json!({ "name": "a", "inputSchema": {}, "kind": "hand", "parent": null });
    assert_eq!(again::<Tool>(&tool), tool);
    let read: Tool = from_value(tool).unwrap();
    assert_eq!(read.parent, Some(None));
    let absent: Tool =
        from_value(json!({ "name": "a", "inputSchema": {}, "kind": "hand", "title": null })).unwrap();
    assert_eq!((absent.parent, absent.title), (None, None));
}

#[test]
fn a_union_is_told_apart_by_its_json_type_its_texts_and_what_it_must_have() {
    let result = json!({ "content": [
        { "type": "text", "text": "a" },
        { "type": "image", "data": "b", "size": 3 },
        [{ "type": "text", "text": "c" }],
        "nothing",
        null,
    ] });
    let read: RunResult = from_value(result.clone()).unwrap();
    assert_eq!(
        read.content,
        [
            Some(ContentValue::Text(TextContent::new("a"))),
            Some(ImageContent::new("b").size(3).into()),
            Some(vec![TextContent::new("c")].into()),
            Some(ContentValue::Nothing),
            None,
        ]
    );
    assert_eq!(to_value(read).unwrap(), result);
    let content: Content = None;
    assert_eq!(to_value(content).unwrap(), Value::Null);
    assert_eq!(from_value::<Order>(json!({ "name": "x" })).unwrap(), Dish::new("x").into());
    let menu = json!({ "name": "x", "courses": ["y"] });
    assert_eq!(from_value::<Order>(menu).unwrap(), Menu::new("x", ["y"]).into());
}

#[test]
fn a_list_is_given_as_anything_that_yields_its_elements() {
    let menu = json!({ "name": "x", "courses": ["a", "b"] });
    assert_eq!(to_value(Menu::new("x", vec!["a".to_owned(), "b".to_owned()])).unwrap(), menu);
    assert_eq!(to_value(Menu::new("x", "a,b".split(','))).unwrap(), menu);
    let contents = ["a", "b"].map(TextContent::new);
    let listed = RunResult::new(contents.iter().map(|content| Some(content.clone().into())));
    assert_eq!(listed, RunResult::new(contents.map(|content| Some(content.into()))));
}

#[test]
fn words_are_known_or_kept() {
    assert_eq!(from_value::<Level>(json!("info")).unwrap(), Level::Info);
    assert_eq!(from_value::<Level>(json!("loud")).unwrap(), Level::Other("loud".to_owned()));
    assert_eq!(again::<Level>(&json!("loud")), "loud");
    assert_eq!(Role::Assistant.as_str(), "assistant");
    assert_eq!(ProgressToken::from("a"), from_value(json!("a")).unwrap());
}

#[test]
fn numbers_are_known_or_kept() {
    assert_eq!(from_value::<Step>(json!(-1)).unwrap(), Step::Minus1);
    assert_eq!(from_value::<Step>(json!(1.0)).unwrap(), Step::V1, "`1.0` is `1`");
    assert_eq!(again::<Step>(&json!(1.0)), json!(1));
    assert_eq!((Step::Minus1.as_i64(), Step::V0.to_string()), (-1, "0".to_owned()));
    assert_eq!(error::<Step>(json!(2)), "expected -1, 0 or 1, found 2");
    assert_eq!(error::<Step>(json!("1")), "expected -1, 0 or 1, found \"1\"");

    assert_eq!(from_value::<Priority>(json!(3)).unwrap(), Priority::V3);
    assert_eq!(from_value::<Priority>(json!(-7)).unwrap(), Priority::Other(-7));
    assert_eq!((Priority::from(2), Priority::from(9)), (Priority::V2, Priority::Other(9)));
    assert_eq!(again::<Priority>(&json!(-7)), json!(-7));
    assert_eq!(error::<Priority>(json!(1.5)), "expected a whole number, found 1.5");

    assert_eq!(from_value::<Page>(json!(u64::MAX)).unwrap(), Page::Other(u64::MAX));
    assert_eq!(Page::V0.as_u64(), 0);
    assert_eq!(error::<Page>(json!(-1)), "expected a whole number that is not negative, found -1");
}

#[test]
fn a_value_may_have_the_name_of_its_variant() {
    for (number, status) in
        [(1, Status::Finished), (2, Status::NotFound), (3, Status::V3), (4, Status::Other(4))]
    {
        assert_eq!(from_value::<Status>(json!(number)).unwrap(), status);
        assert_eq!((status.as_i64(), again::<Status>(&json!(number))), (number, json!(number)));
    }
    let formats = json!(["text/plain", "plain", 1, [2]]);
    let read: Vec<Format> = from_value(formats.clone()).unwrap();
    // The name that is written is the one that gets no number.
    assert_eq!(read, [Format::Plain, Format::Plain2, Format::Numbers, vec![2].into()]);
    assert_eq!(to_value(read).unwrap(), formats);
    assert_eq!(error::<Format>(json!(2)), "expected \"text/plain\", \"plain\", 1 or a list, found 2");
}

#[test]
fn a_value_by_itself_is_an_alternative_and_tells_records_apart() {
    let mixed = json!([1, "auto", false, [5]]);
    let read: Vec<Mixed> = from_value(mixed.clone()).unwrap();
    assert_eq!(read, [Mixed::V1, Mixed::Auto, Mixed::False, vec![5].into()]);
    assert_eq!(to_value(read).unwrap(), mixed);
    assert_eq!(error::<Mixed>(json!(true)), "expected 1, \"auto\", false or a list, found true");

    let good = json!({ "ok": true, "value": 1 });
    assert_eq!(from_value::<Checked>(good.clone()).unwrap(), CheckedTrue::new(Step::V1).into());
    assert_eq!(to_value(CheckedTrue::new(Step::V1)).unwrap(), good);
    let strict = CheckedTrue::new(Step::V1).strict(CheckedTrueStrict::True);
    assert_eq!(to_value(strict).unwrap(), json!({ "ok": true, "value": 1, "strict": true }));
    // What tells them apart may come last, and a number may be written with a point.
    let bad: Checked =
        serde_json::from_str(r#"{ "code": 7.0, "page": 0, "all": true, "ok": false }"#).unwrap();
    assert_eq!(bad, Checked::False(CheckedFalse::new(Page::V0, true)));
    assert_eq!(to_value(bad).unwrap(), json!({ "ok": false, "code": 7, "page": 0, "all": true }));
    assert_eq!(error::<Checked>(json!({ "ok": 1 })), "ok: expected true or false, found 1");
    let wrong = json!({ "ok": false, "code": 8, "page": 0, "all": true });
    assert_eq!(error::<CheckedFalse>(wrong), "code: expected 7, found 8");
}

#[test]
fn what_does_not_fit_says_where() {
    let tools = |tool: Value| json!({ "tools": [tool] });
    assert_eq!(error::<Listing>(tools(json!({ "name": 1 }))), "tools[0].name: expected a string, found 1");
    assert_eq!(error::<Listing>(json!({})), "tools: expected a list, found nothing");
    assert_eq!(
        error::<Tool>(json!({ "name": "a", "inputSchema": {}, "kind": "hand", "parent": { "name": "b" } })),
        "parent.inputSchema: expected an object, found nothing"
    );
    assert_eq!(
        error::<RunResult>(json!({ "content": [null, { "type": "text" }] })),
        "content[1].text: expected a string, found nothing"
    );
    let unknown = error::<RunResult>(json!({ "content": [null, { "type": "unknown" }] }));
    assert!(unknown.starts_with("content[1].type: expected \"text\""), "{unknown}");
    assert_eq!(error::<Role>(json!("me")), "expected \"user\" or \"assistant\", found \"me\"");
    assert_eq!(error::<Tool>(json!([])), "expected an object `Tool`, found a list");
    assert_eq!(
        error::<ImageContent>(json!({ "type": "image", "data": "", "size": -1 })),
        "size: expected a whole number that is not negative, found -1"
    );
    assert_eq!(
        error::<RunResult>(json!({ "content": [true] })),
        "content[0]: expected an object `TextContent`, an object `ImageContent`, a list or \"nothing\", found true"
    );
}

struct Counter;

impl server::Handler for Counter {
    async fn list(&self, _: server::Context, params: Option<ListParams>) -> Result<Listing, RpcError> {
        let cursor = params.and_then(|params| params.cursor);
        let tool = Tool::new(cursor.as_deref().unwrap_or("first"), Object::new(), ToolKind::Hand);
        let listing = Listing::new([tool]);
        Ok(if cursor.is_none() { listing.next_cursor("second") } else { listing })
    }

    async fn run(&self, _: server::Context, params: RunParams) -> Result<RunResult, RpcError> {
        Ok(RunResult::new([Some(TextContent::new(params.name).into())]))
    }

    async fn count(&self, _: server::Context, names: Names) -> Result<ProgressToken, RpcError> {
        Ok((names.len() as i64).into())
    }
}

#[tokio::test]
async fn a_session_carries_shapes() {
    let (near, far) = duplex();
    let shop = Shop::new(far);
    let serving = test_support::spawn(async move { shop.incoming().serve(Counter).await });
    let buyer = Buyer::new(near);
    let mut pages = buyer.list_pages(None);
    let mut names = Vec::new();
    while let Some(page) = pages.next().await {
        names.extend(page.unwrap().tools.into_iter().map(|tool| tool.name));
    }
    assert_eq!(names, ["first", "second"]);
    let ran = buyer.run(RunParams::new("saw").role(Role::User).level("loud")).await.unwrap();
    assert_eq!(ran, RunResult::new([Some(TextContent::new("saw").into())]));
    assert_eq!(buyer.count(vec!["a".to_owned()]).await.unwrap(), ProgressToken::Int(1));
    drop(pages);
    buyer.close().await.unwrap();
    serving.await.unwrap();
}
