//! Rounds of revision 2026-07-28: a client that answers what it is asked, and servers that ask.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2026_07_28::client::{PromptsGetReply, ToolsCallReply};
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpClient, McpServer, Start, server};
use mcp_protocols::rounds::{Answering, AskError, Retry, Round, Rounds, RoundsError, Seal, SealingKey, User};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, RpcError};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

fn can_all() -> ClientCapabilities {
    ClientCapabilities::new()
        .roots(Object::new())
        .sampling(SamplingCapability::new())
        .elicitation(ElicitationCapability::new())
}

fn meta(can: ClientCapabilities) -> RequestMeta {
    RequestMeta::new("2026-07-28", can)
}

fn form(message: &str) -> ElicitFormParams {
    let name: FieldSchema = StringSchema::new().into();
    ElicitFormParams::new(message, FormSchema::new([("name".to_owned(), name)]))
}

fn said(answer: &ElicitResult) -> String {
    match answer.content.as_ref().and_then(|content| content.get("name")) {
        Some(FieldValue::Text(name)) => name.clone(),
        other => format!("{other:?}"),
    }
}

fn result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new([TextContent::new(text).into()])
}

fn text(result: &CallToolResult) -> &str {
    match &*result.content {
        [ContentBlock::Text(content)] => &content.text,
        other => panic!("{other:?}"),
    }
}

/// A server with tools that ask.
#[derive(Clone)]
struct Desk {
    rounds: Rounds,
    seal: Seal,
    /// Dropped with the handler of `forget`.
    dropped: Arc<Mutex<Option<oneshot::Sender<()>>>>,
    began: Arc<AtomicUsize>,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            rounds: Rounds::new(),
            seal: Seal::new(SealingKey::from_bytes([7; 32])),
            dropped: Arc::default(),
            began: Arc::default(),
        }
    }

    /// Counts to three by a state that the client carries.
    fn count(&self, params: &CallToolParams) -> Result<Round<CallToolResult>, RpcError> {
        let count = self.seal.open::<_, u32>(params)?.unwrap_or(0) + 1;
        if count == 3 {
            return Ok(Round::Done(result("three")));
        }
        let state = self.seal.seal(params, &count)?;
        Ok(Round::InputRequired(InputRequiredResult::new().request_state(state)))
    }
}

impl server::Handler for Desk {
    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<server::ToolsCallReply, RpcError> {
        self.began.fetch_add(1, Ordering::Relaxed);
        if params.name == "count" {
            return self.count(&params).map(Into::into);
        }
        let dropped = self.dropped.lock().unwrap().take();
        let handle = |asker: mcp_protocols::rounds::RoundAsker<CallToolParams>| async move {
            match &*asker.params().name {
                "greet" => {
                    let first = said(&asker.elicit(form("First name?")).await?);
                    let last = said(&asker.elicit(form("Last name?")).await?);
                    let progress = ProgressParams::new(0, 1);
                    asker.context().send_progress(progress).await.unwrap();
                    Ok(result(format!("Hello, {first} {last}")))
                }
                "all" => {
                    let roots = asker.list_roots().await?.roots.len();
                    let message = CreateMessageParams::new(Vec::new(), 10);
                    let model = asker.create_message(message).await?.model;
                    Ok(result(format!("{roots} {model}")))
                }
                "both" => {
                    let (one, other) = tokio::join!(asker.elicit(form("one")), asker.elicit(form("other")));
                    Ok(result(said(&one?) + &said(&other?)))
                }
                "parts" => {
                    // Three parts ask at the same time: the first goes on by itself, the last is another task.
                    let part = async {
                        let first = said(&asker.elicit(form("one")).await?);
                        Ok::<_, AskError>(first + &said(&asker.elicit(form("two")).await?))
                    };
                    let several = ["a", "input"].map(|name| (name.to_owned(), ListRootsInput::new().into()));
                    let (part, several) = tokio::join!(part, asker.ask(several));
                    let asking = asker.clone();
                    let task = tokio::spawn(async move { asking.elicit(form("task")).await });
                    let task = said(&task.await.unwrap()?);
                    Ok(result(format!("{} {} {task}", part?, several?.len())))
                }
                "many" => {
                    let asked = (0..1_000).map(|_| asker.elicit(form("one of many")));
                    let answers = futures_util::future::try_join_all(asked).await?;
                    Ok(result(answers.len().to_string()))
                }
                "impatient" => {
                    let impatient = tokio::time::sleep(Duration::from_secs(1));
                    tokio::select! {
                        answer = asker.elicit(form("quick")) => return Ok(result(said(&answer?))),
                        () = impatient => {}
                    }
                    Ok(result(said(&asker.elicit(form("slow")).await?)))
                }
                "several" => {
                    let question = |message| ElicitInput::new(form(message)).into();
                    let asked = ["a", "b"].map(|name| (name.to_owned(), question(name)));
                    let answers = asker.ask(asked).await?;
                    let all = answers.values().map(|answer| match answer {
                        InputResponse::Elicit(answer) => said(answer),
                        other => panic!("{other:?}"),
                    });
                    Ok(result(all.collect::<Vec<_>>().join(" ")))
                }
                "url" => {
                    let url = ElicitUrlParams::new("log in", "https://example.org");
                    asker.elicit(url).await?;
                    Ok(result("logged in"))
                }
                "forget" => {
                    let _dropped = dropped;
                    asker.elicit(form("never answered")).await?;
                    Ok(result("answered"))
                }
                "fail" => panic!("on purpose"),
                other => Err(RpcError::invalid_params(other.to_owned())),
            }
        };
        self.rounds.run(context, params, handle).await
    }

    async fn get_prompt(
        &self,
        context: server::Context,
        params: GetPromptParams,
    ) -> Result<server::PromptsGetReply, RpcError> {
        let ask = |asker: mcp_protocols::rounds::RoundAsker<GetPromptParams>| async move {
            let topic = said(&asker.elicit(form("About what?")).await?);
            Ok(GetPromptResult::new(Vec::new()).description(topic))
        };
        self.rounds.run(context, params, ask).await
    }
}

fn connect(desk: impl server::Handler) -> McpClient<Start> {
    let options = || Options::new().judge_payloads(true);
    let (near, far) = duplex();
    let server = McpServer::with_options(far, options());
    test_support::spawn(server.incoming().serve(desk));
    test_support::spawn(async move { server.ended().await });
    McpClient::with_options(near, options())
}

struct Greeter {
    rounds: Rounds,
}

impl server::Handler for Greeter {
    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<server::ToolsCallReply, RpcError> {
        self.rounds
            .run(context, params, |asker| async move {
                let answer = asker.elicit(form("Who is there?")).await?;
                Ok(result(format!("Hello, {}", said(&answer))))
            })
            .await
    }
}

struct Ada;

impl User for Ada {
    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, RpcError> {
        let name = ("name".to_owned(), FieldValue::from("Ada"));
        Ok(ElicitResult::new(ElicitAction::Accept).content([name]))
    }
}

#[tokio::test]
async fn the_user_of_the_guide_is_greeted() -> Result<(), Box<dyn std::error::Error>> {
    let client = connect(Greeter { rounds: Rounds::new() });
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    let params = CallToolParams::new("greet", RequestMeta::new("2026-07-28", can));
    let greeting = Answering::new(Ada).call(params, |params| client.call_tool(params)).await?;
    assert_eq!(text(&greeting), "Hello, Ada");
    client.close().await?;
    Ok(())
}

/// Answers every form with what it was asked.
struct Echo;

impl User for Echo {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else { return Err(RpcError::invalid_params("no form")) };
        let name = ("name".to_owned(), FieldValue::from(form.message.to_lowercase()));
        Ok(ElicitResult::new(ElicitAction::Accept).content([name]))
    }

    async fn create_message(&self, _: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let content: SamplingContentBlock = TextContent::new("hm").into();
        Ok(CreateMessageResult::new(Role::Assistant, content, "parrot"))
    }

    async fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        Ok(ListRootsResult::new([Root::new("file:///a"), Root::new("file:///b")]))
    }
}

fn params(tool: &str) -> CallToolParams {
    CallToolParams::new(tool, meta(can_all()))
}

#[tokio::test]
async fn a_call_returns_its_result_after_several_rounds() {
    let client = connect(Desk::new());
    let reported = Arc::new(AtomicUsize::new(0));
    let call = |params| {
        let reported = reported.clone();
        client.call_tool(params).on_progress(move |_| _ = reported.fetch_add(1, Ordering::Relaxed))
    };
    let greeting = Answering::new(Echo).call(params("greet"), call).await.unwrap();
    assert_eq!(text(&greeting), "Hello, first name? last name?");
    // The report is about the third request, not about the first.
    assert_eq!(reported.load(Ordering::Relaxed), 1);
    for (tool, answer) in [("all", "2 parrot"), ("both", "oneother"), ("several", "a b"), ("count", "three")]
    {
        let done = Answering::new(Echo).call(params(tool), |params| client.call_tool(params)).await.unwrap();
        assert_eq!(text(&done), answer);
    }
    let prompt = GetPromptParams::new("letter", meta(can_all()));
    let prompt = Answering::new(Echo).call(prompt, |params| client.get_prompt(params)).await.unwrap();
    assert_eq!(prompt.description.as_deref(), Some("about what?"));
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_call_ends_where_no_answer_can_be_given() {
    let client = connect(Desk::new());
    let answering = Answering::new(Echo).most_rounds(2);
    let Err(error) = answering.call(params("count"), |params| client.call_tool(params)).await else {
        panic!()
    };
    assert!(matches!(error, RoundsError::TooMany { rounds: 2 }), "{error}");

    struct Nobody;
    impl User for Nobody {}
    let Err(error) = Answering::new(Nobody).call(params("greet"), |params| client.call_tool(params)).await
    else {
        panic!()
    };
    assert_eq!(
        error.to_string(),
        "`input` has no answer: method not found: `elicitation/create` (code -32601)"
    );

    // The server does not ask what the request does not declare; a careless one would be told by the client.
    let bare = CallToolParams::new("greet", meta(ClientCapabilities::new()));
    let Err(error) = Answering::new(Echo).call(bare, |params| client.call_tool(params)).await else {
        panic!()
    };
    let RoundsError::Call(Error::Refused(refusal)) = error else { panic!("{error}") };
    assert_eq!(
        (refusal.code, refusal.data),
        (-32021, Some(serde_json::json!({ "requiredCapabilities": { "elicitation": { "form": {} } } })))
    );
    let Err(error) = Answering::new(Echo).call(params("url"), |params| client.call_tool(params)).await else {
        panic!()
    };
    assert!(error.to_string().contains("`elicitation.url`"), "{error}");
    let careless = |_: CallToolParams| async {
        let asked = [("x".to_owned(), ListRootsInput::new().into())];
        Ok(Round::<CallToolResult>::InputRequired(InputRequiredResult::new().input_requests(asked)))
    };
    let bare = CallToolParams::new("greet", meta(ClientCapabilities::new()));
    let Err(error) = Answering::new(Echo).call(bare, careless).await else { panic!() };
    assert!(matches!(error, RoundsError::NotDeclared { .. }), "{error}");
    let silent =
        |_: CallToolParams| async { Ok(Round::<CallToolResult>::InputRequired(InputRequiredResult::new())) };
    let Err(error) = Answering::new(Echo).call(params("greet"), silent).await else { panic!() };
    assert!(matches!(error, RoundsError::NothingAsked), "{error}");

    let Err(error) = Answering::new(Echo).call(params("fail"), |params| client.call_tool(params)).await
    else {
        panic!()
    };
    assert!(
        matches!(&error, RoundsError::Call(Error::Refused(refusal)) if refusal.code == -32603),
        "{error}"
    );
    client.close().await.unwrap();
}

/// One round by itself, as a client sees it that answers by hand.
async fn round(client: &McpClient<Start>, params: CallToolParams) -> InputRequiredResult {
    match client.call_tool(params).await.unwrap() {
        ToolsCallReply::ToolsInputRequired(asked) => asked,
        ToolsCallReply::ToolsResult(result) => panic!("{result:?}"),
    }
}

fn answer(name: &str, said: &str) -> (String, InputResponse) {
    let content = [("name".to_owned(), FieldValue::from(said))];
    (name.to_owned(), ElicitResult::new(ElicitAction::Accept).content(content).into())
}

#[tokio::test]
async fn what_is_left_unanswered_is_asked_again() {
    let client = connect(Desk::new());
    let first = round(&client, params("several")).await;
    assert_eq!(first.input_requests.unwrap().keys().collect::<Vec<_>>(), ["a", "b"]);
    let part = [answer("b", "2"), answer("unasked", "9")];
    let second = round(&client, params("several").again(Some(part.into()), first.request_state)).await;
    assert_eq!(second.input_requests.unwrap().keys().collect::<Vec<_>>(), ["a"]);
    let rest = params("several").again(Some([answer("a", "1")].into()), second.request_state.clone());
    let ToolsCallReply::ToolsResult(done) = client.call_tool(rest.clone()).await.unwrap() else { panic!() };
    assert_eq!(text(&done), "1 2");
    // A state is of use once, and only for its own request.
    let Err(Error::Refused(refusal)) = client.call_tool(rest).await else { panic!() };
    assert_eq!(refusal.code, -32602);
    client.close().await.unwrap();
}

/// The names of what a round asks, and the messages of its forms.
fn asked(round: &InputRequiredResult) -> Vec<(&str, &str)> {
    let questions = round.input_requests.as_ref().unwrap();
    let message = |question| match question {
        &InputRequest::ElicitationCreate(ElicitInput { params: ElicitParams::Form(ref form), .. }) => {
            &*form.message
        }
        _ => "",
    };
    questions.iter().map(|(name, question)| (&**name, message(question))).collect()
}

fn again(
    tool: &str,
    round: &InputRequiredResult,
    answers: impl IntoIterator<Item = (String, InputResponse)>,
) -> CallToolParams {
    params(tool).again(Some(answers.into_iter().collect()), round.request_state.clone())
}

#[tokio::test]
async fn what_a_handler_asks_at_the_same_time_is_one_round() {
    let client = connect(Desk::new());
    let both = round(&client, params("both")).await;
    assert_eq!(asked(&both), [("input", "one"), ("input-2", "other")]);
    // One is left out: it is asked again, under its name.
    let left = round(&client, again("both", &both, [answer("input", "1")])).await;
    assert_eq!(asked(&left), [("input-2", "other")]);
    let done = client.call_tool(again("both", &left, [answer("input-2", "2")])).await.unwrap();
    let ToolsCallReply::ToolsResult(done) = done else { panic!() };
    assert_eq!(text(&done), "12");
    client.close().await.unwrap();
}

#[tokio::test]
async fn each_part_of_a_handler_goes_on_with_its_own_answers() {
    let client = connect(Desk::new());
    let roots = |name: &str| (name.to_owned(), ListRootsResult::new([Root::new("file:///a")]).into());
    let first = round(&client, params("parts")).await;
    assert_eq!(asked(&first), [("a", ""), ("input", "one"), ("input-2", "")]);
    // The first part has its answer, and asks its next question with what is left of the others.
    let next = round(&client, again("parts", &first, [answer("input", "1"), roots("a")])).await;
    assert_eq!(asked(&next), [("input", "two"), ("input-2", "")]);
    let task = round(&client, again("parts", &next, [answer("input", "2"), roots("input-2")])).await;
    assert_eq!(asked(&task), [("input", "task")]);
    let done = client.call_tool(again("parts", &task, [answer("input", "3")])).await.unwrap();
    let ToolsCallReply::ToolsResult(done) = done else { panic!() };
    assert_eq!(text(&done), "12 2 3");
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_only_for_what_was_asked_in_its_round() {
    let client = connect(Desk::new());
    let quick = round(&client, params("impatient")).await;
    assert_eq!(asked(&quick), [("input", "quick")]);
    // The handler does not wait any more, and asks something else meanwhile.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let slow = round(&client, again("impatient", &quick, [answer("input", "late")])).await;
    assert_eq!(asked(&slow), [("input", "slow")]);
    let done = client.call_tool(again("impatient", &slow, [answer("input", "in time")])).await.unwrap();
    let ToolsCallReply::ToolsResult(done) = done else { panic!() };
    assert_eq!(text(&done), "in time");
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_handler_may_ask_any_number_at_the_same_time() {
    let client = connect(Desk::new());
    let many = round(&client, params("many")).await;
    let names: Vec<String> = many.input_requests.as_ref().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 1_000);
    let answers = names.iter().map(|name| answer(name, "x"));
    let done = client.call_tool(again("many", &many, answers)).await.unwrap();
    let ToolsCallReply::ToolsResult(done) = done else { panic!() };
    assert_eq!(text(&done), "1000");
    // All that is asked is answered at the same time, in one round.
    let answering = Answering::new(Echo).most_rounds(2);
    let done = answering.call(params("many"), |params| client.call_tool(params)).await.unwrap();
    assert_eq!(text(&done), "1000");
    client.close().await.unwrap();
}

#[tokio::test]
async fn answers_may_come_before_they_are_asked_for() {
    let client = connect(Desk::new());
    let all =
        params("several").again(Some([answer("a", "1"), answer("b", "2"), answer("c", "3")].into()), None);
    let ToolsCallReply::ToolsResult(done) = client.call_tool(all).await.unwrap() else { panic!() };
    assert_eq!(text(&done), "1 2");
    let part = params("several").again(Some([answer("b", "2")].into()), None);
    let first = round(&client, part).await;
    assert_eq!(first.input_requests.unwrap().keys().collect::<Vec<_>>(), ["a"]);
    let rest = params("several").again(Some([answer("a", "1")].into()), first.request_state);
    let ToolsCallReply::ToolsResult(done) = client.call_tool(rest).await.unwrap() else { panic!() };
    assert_eq!(text(&done), "1 2");
    // It answers the first of two questions of the same name.
    let greeted = params("greet").again(Some([answer("input", "Ada")].into()), None);
    assert_eq!(round(&client, greeted).await.input_requests.unwrap().len(), 1);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_state_is_of_no_use_for_another_request() {
    let client = connect(Desk::new());
    let state = round(&client, params("greet")).await.request_state;
    let other = params("several").again(None, state.clone());
    let Err(Error::Refused(refusal)) = client.call_tool(other).await else { panic!() };
    assert_eq!(refusal.code, -32602);
    let other = GetPromptParams::new("greet", meta(can_all())).again(None, state.clone());
    let Err(Error::Refused(refusal)) = client.get_prompt(other).await else { panic!() };
    assert_eq!(refusal.code, -32602);
    // The call still waits for its own.
    let own = params("greet").again(Some([answer("input", "Ada")].into()), state);
    round(&client, own).await;
    let sealed = round(&client, params("count")).await.request_state.unwrap();
    let forged = format!("{}A", &sealed[..sealed.len() - 1]);
    let forged = if forged == sealed { format!("{}B", &sealed[..sealed.len() - 1]) } else { forged };
    let Err(Error::Refused(refusal)) = client.call_tool(params("count").request_state(forged)).await else {
        panic!()
    };
    assert_eq!(refusal.code, -32602);
    client.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_of_another_kind_is_an_error() {
    let client = connect(Desk::new());
    let state = round(&client, params("greet")).await.request_state;
    let roots = ("input".to_owned(), ListRootsResult::new([Root::new("file:///a")]).into());
    let wrong = params("greet").again(Some([roots].into()), state);
    let Err(Error::Refused(refusal)) = client.call_tool(wrong).await else { panic!() };
    let said =
        |name: &str| format!("the answer to `{name}` cannot be used: it answers another kind of question");
    assert_eq!((refusal.code, refusal.message), (-32602, said("input")));
    // The client reads the name that it was asked under.
    let both = round(&client, params("both")).await;
    let wrong = ("input-2".to_owned(), ListRootsResult::new([]).into());
    let wrong = client.call_tool(again("both", &both, [answer("input", "1"), wrong])).await;
    let Err(Error::Refused(refusal)) = wrong else { panic!() };
    assert_eq!((refusal.code, refusal.message), (-32602, said("input-2")));
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_goes_on_with_is_dropped() {
    let (dropped, is_dropped) = oneshot::channel();
    let desk = Desk { rounds: Rounds::new().lifetime(Duration::from_secs(60)), ..Desk::new() };
    *desk.dropped.lock().unwrap() = Some(dropped);
    let client = connect(desk);
    let state = round(&client, params("forget")).await.request_state;
    assert!(is_dropped.await.is_err());
    let late = params("forget").again(Some([answer("input", "x")].into()), state);
    let Err(Error::Refused(refusal)) = client.call_tool(late).await else { panic!() };
    assert_eq!(refusal.code, -32602);
    client.close().await.unwrap();
}

#[tokio::test]
async fn only_so_many_calls_wait() {
    let client = connect(Desk { rounds: Rounds::new().most_waiting(1), ..Desk::new() });
    let first = round(&client, params("greet")).await.request_state;
    let Err(Error::Refused(refusal)) = client.call_tool(params("greet")).await else { panic!() };
    assert!(refusal.message.contains("too many calls wait"), "{refusal}");
    round(&client, params("greet").again(Some([answer("input", "Ada")].into()), first)).await;
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_round_by_itself_is_what_the_generated_method_returns() {
    let client = connect(Desk::new());
    let params = GetPromptParams::new("letter", meta(can_all()));
    let reply = client.get_prompt(params.clone()).await.unwrap();
    let PromptsGetReply::PromptsInputRequired(asked) = reply else { panic!("{reply:?}") };
    let again = params.again(Some([answer("input", "tea")].into()), asked.request_state);
    let PromptsGetReply::PromptsResult(prompt) = client.get_prompt(again).await.unwrap() else { panic!() };
    assert_eq!(prompt.description.as_deref(), Some("tea"));
    client.close().await.unwrap();
}

#[tokio::test]
async fn many_calls_with_two_rounds_each_complete_once() {
    let desk = Desk::new();
    let began = desk.began.clone();
    let client = connect(desk);
    let (handle, places) = (client.handle(), Arc::new(Semaphore::new(50)));
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let (handle, places) = (handle.clone(), places.clone());
        calls.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let done = Answering::new(Echo).call(params("greet"), |params| handle.call_tool(params)).await;
            assert_eq!(text(&done.unwrap()), "Hello, first name? last name?");
        });
    }
    calls.join_all().await;
    assert_eq!(began.load(Ordering::Relaxed), 600, "three requests a call");
    client.close().await.unwrap();
}
