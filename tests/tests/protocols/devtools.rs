//! Keys in members of the envelope: the Chrome DevTools Protocol names the sub-session of a message next to `params`.

use mcp_runtime::observer::{Observed, Observer};
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};

use crate::in_time;
use tabs::client::{Incoming, Target, WatchingNext};
use tabs::types::{
    AttachParams, AttachedResult, DetachParams, DetachedParams, DiscoverParams, EvaluateParams,
    LoadEventFiredParams, NavigateParams, NavigatedResult, SetAutoAttachParams, Version,
};
use tabs::{Browser, Client, Watching, server};

mod tabs {
    mcp_runtime::protocol!("protocols/devtools.session");
}

/// Reads the next message, which is this one but for its id, and returns the id.
async fn hear(browser: &mut Raw, mut expected: Value) -> Value {
    let heard = browser.hear().await.unwrap();
    expected["id"] = heard["id"].clone();
    assert_eq!(heard, expected);
    heard["id"].clone()
}

/// Answers the request that attaches a target.
async fn attach(browser: &mut Raw, target: &str, session: &str) {
    let params = json!({ "targetId": target, "flatten": true });
    let id = hear(browser, json!({ "method": "Target.attachToTarget", "params": params })).await;
    let info = json!({
        "targetId": target, "type": "page", "title": "", "url": "about:blank", "attached": true,
        "canAccessOpener": false,
    });
    let params = json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": false });
    browser.say(json!({ "method": "Target.attachedToTarget", "params": params })).await;
    browser.say(json!({ "id": id, "result": { "sessionId": session } })).await;
}

async fn attached(client: &Client<tabs::Start>, target: &str) -> Target<Watching> {
    let (result, tab) = client.attach(AttachParams::new(target)).await.unwrap();
    assert!(result.session_id.ends_with(target.trim_start_matches('T')));
    tab
}

#[tokio::test]
async fn a_client_keeps_two_targets_apart() {
    in_time(async {
        let (near, mut raw) = raw();
        let browser = async {
            let id = hear(&mut raw, json!({ "method": "Browser.getVersion" })).await;
            let version = json!({
                "protocolVersion": "1.3", "product": "Chrome/1", "revision": "@1", "userAgent": "u",
                "jsVersion": "12",
            });
            raw.say(json!({ "id": id, "result": version })).await;
            attach(&mut raw, "T1", "S1").await;
            attach(&mut raw, "T2", "S2").await;
            // The commands of both run at once, and the replies come in another order, among events.
            let one = hear(&mut raw, json!({ "method": "Page.enable", "sessionId": "S1" })).await;
            let two = hear(&mut raw, json!({ "method": "Page.enable", "sessionId": "S2" })).await;
            raw.say(json!({ "id": two, "result": {}, "sessionId": "S2" })).await;
            // This browser says less; the id tells the request.
            raw.say(json!({ "id": one, "result": {} })).await;
            let navigate = |url: &str, session: &str| {
                let params = json!({ "url": url });
                json!({ "method": "Page.navigate", "params": params, "sessionId": session })
            };
            let one = hear(&mut raw, navigate("https://a.example", "S1")).await;
            let two = hear(&mut raw, navigate("https://b.example", "S2")).await;
            let fired = |timestamp: f64, session: &str| {
                let params = json!({ "timestamp": timestamp });
                json!({ "method": "Page.loadEventFired", "params": params, "sessionId": session })
            };
            raw.say(fired(2.5, "S2")).await;
            raw.say(json!({ "id": one, "result": { "frameId": "F1" }, "sessionId": "S1" })).await;
            raw.say(fired(1.5, "S1")).await;
            let error = json!({ "code": -32000, "message": "Cannot navigate to invalid URL" });
            raw.say(json!({ "id": two, "error": error, "sessionId": "S2" })).await;
            // What detaches a target names it in its params.
            let detach = json!({ "method": "Target.detachFromTarget", "params": { "sessionId": "S1" } });
            let id = hear(&mut raw, detach).await;
            let params = json!({ "sessionId": "S1", "targetId": "T1" });
            raw.say(json!({ "method": "Target.detachedFromTarget", "params": params })).await;
            raw.say(json!({ "id": id, "result": {} })).await;
            let params = json!({ "sessionId": "S2" });
            raw.say(json!({ "method": "Target.detachedFromTarget", "params": params })).await;
            raw
        };
        let client = async {
            let client = Client::new(near);
            let incoming = client.incoming();
            assert_eq!(client.get_version().await.unwrap().product, "Chrome/1");
            let (one, two) = (attached(&client, "T1").await, attached(&client, "T2").await);
            let Some(Incoming::AttachedToTarget(first)) = incoming.next().await else { panic!() };
            assert_eq!((&*first.session_id, &*first.target_info.target_id), ("S1", "T1"));
            let enabled = tokio::join!(one.enable_page(), two.enable_page());
            assert!(enabled.0.is_ok() && enabled.1.is_ok());
            let (navigated, refused) = tokio::join!(
                one.navigate(NavigateParams::new("https://a.example")),
                two.navigate(NavigateParams::new("https://b.example")),
            );
            assert_eq!(navigated.unwrap(), NavigatedResult::new("F1"));
            let Err(Error::Refused(error)) = refused else { panic!("{refused:?}") };
            assert_eq!(error, RpcError::new(-32000, "Cannot navigate to invalid URL"));
            let WatchingNext::LoadEventFired(fired, one) = one.next().await.unwrap() else { panic!() };
            assert_eq!(fired, LoadEventFiredParams::new(1.5));
            let WatchingNext::LoadEventFired(fired, two) = two.next().await.unwrap() else { panic!() };
            assert_eq!(fired, LoadEventFiredParams::new(2.5));
            one.detach(DetachParams::new("S1")).await.unwrap();
            let WatchingNext::Detached(over) = one.next().await.unwrap() else { panic!() };
            assert_eq!(over, DetachedParams::new("S1").target_id("T1"));
            assert_eq!(two.recv_detached().await.unwrap(), DetachedParams::new("S2"));
            (client, incoming)
        };
        let (client, _raw) = tokio::join!(client, browser);
        drop(client);
    })
    .await;
}

#[tokio::test]
async fn a_command_without_a_session_is_for_the_browser() {
    in_time(async {
        let (near, mut raw) = raw();
        let params = || SetAutoAttachParams::new(true, false);
        let auto_attach = |session: Option<&str>| {
            let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": false });
            let mut command = json!({ "method": "Target.setAutoAttach", "params": params });
            session.into_iter().for_each(|session| command["sessionId"] = session.into());
            command
        };
        let browser = async {
            let id = hear(&mut raw, auto_attach(None)).await;
            raw.say(json!({ "id": id, "result": {} })).await;
            attach(&mut raw, "T1", "S1").await;
            let id = hear(&mut raw, auto_attach(Some("S1"))).await;
            raw.say(json!({ "id": id, "result": {}, "sessionId": "S1" })).await;
            // A reply with a session answers no command without one.
            let id = hear(&mut raw, auto_attach(None)).await;
            raw.say(json!({ "id": id, "result": {}, "sessionId": "S1" })).await;
            raw
        };
        let client = async {
            let client = Client::new(near);
            client.set_auto_attach(params()).await.unwrap();
            let tab = attached(&client, "T1").await;
            tab.set_auto_attach(params()).await.unwrap();
            let refused = client.set_auto_attach(params()).await.unwrap_err();
            assert!(refused.to_string().contains("the session \"S1\""), "{refused}");
            (client, tab)
        };
        let (client, _raw) = tokio::join!(client, browser);
        drop(client);
    })
    .await;
}

#[test]
fn an_observer_sees_for_whom_a_command_is() {
    let mut observer = Observer::new(&tabs::PROTOCOL, Options::new()).unwrap();
    let mut see = |sender, message: Value| {
        let said = observer.observe(sender, message.to_string().as_bytes());
        let said: Vec<String> =
            said.iter().flat_map(|one: &Observed| &one.reports).map(ToString::to_string).collect();
        said.join(" ")
    };
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    let command = |id: i64| json!({ "id": id, "method": "Target.setAutoAttach", "params": params });
    let within = |mut message: Value, session: &str| {
        message["sessionId"] = session.into();
        message
    };
    let done = |id: i64| json!({ "id": id, "result": {} });
    assert_eq!(see(Side::Client, command(1)), "");
    assert_eq!(see(Side::Server, done(1)), "");
    let attach = json!({ "id": 2, "method": "Target.attachToTarget",
        "params": { "targetId": "T", "flatten": true } });
    assert_eq!(see(Side::Client, attach), "");
    assert_eq!(see(Side::Server, json!({ "id": 2, "result": { "sessionId": "S" } })), "");
    assert_eq!(see(Side::Client, within(command(3), "S")), "");
    assert_eq!(see(Side::Server, within(done(3), "S")), "");
    let unknown = see(Side::Client, within(command(4), "X"));
    assert!(unknown.contains("\"X\""), "{unknown}");
    assert_eq!(see(Side::Client, command(5)), "");
    let other = see(Side::Server, within(done(5), "S"));
    assert!(other.contains("the session \"S\""), "{other}");
}

#[tokio::test]
async fn a_reply_of_another_target_is_not_accepted() {
    in_time(async {
        let (near, mut raw) = raw();
        let browser = async {
            attach(&mut raw, "T1", "S1").await;
            for answer in [
                json!({ "result": { "frameId": "F" }, "sessionId": "S2" }),
                json!({ "error": { "code": 1, "message": "no" }, "sessionId": "S2" }),
                json!({ "result": { "frameId": "F" }, "sessionId": 1 }),
            ] {
                let mut answer = answer;
                answer["id"] = raw.hear().await.unwrap()["id"].clone();
                raw.say(answer).await;
            }
            raw
        };
        let client = async {
            let client = Client::new(near);
            let tab = attached(&client, "T1").await;
            for _ in 0..3 {
                let failed = tab.navigate(NavigateParams::new("https://a.example")).await.unwrap_err();
                let Error::InvalidReply(reply) = &failed else { panic!("{failed:?}") };
                assert!(reply.to_string().contains("not that of what it belongs to"), "{reply}");
            }
            (client, tab)
        };
        let (client, _raw) = tokio::join!(client, browser);
        drop(client);
    })
    .await;
}

#[tokio::test]
async fn a_command_to_a_target_that_is_over_is_not_written() {
    in_time(async {
        let (near, mut raw) = raw();
        let browser = async {
            attach(&mut raw, "T1", "S1").await;
            let params = json!({ "sessionId": "S1" });
            raw.say(json!({ "method": "Target.detachedFromTarget", "params": params })).await;
            let id = hear(
                &mut raw,
                json!({ "method": "Target.setDiscoverTargets",
                "params": { "discover": true } }),
            )
            .await;
            raw.say(json!({ "id": id, "result": {} })).await;
            hear(&mut raw, json!({ "method": "Browser.getVersion" })).await;
            raw
        };
        let client = async {
            let client = Client::new(near);
            let tab = attached(&client, "T1").await;
            client.discover(DiscoverParams::new(true)).await.unwrap();
            // The value has not read that the target is detached.
            let failed = tab.navigate(NavigateParams::new("https://a.example")).await;
            assert!(matches!(failed, Err(Error::Closed)), "{failed:?}");
            assert_eq!(tab.recv_detached().await.unwrap(), DetachedParams::new("S1"));
            drop(client.get_version().await);
        };
        tokio::select! {
            () = client => panic!("there is no version"),
            raw = browser => drop(raw),
        }
    })
    .await;
}

/// Two pages. Each goes to the address that it gets, but not to an empty one.
struct Page(&'static str);

impl server::TargetHandler for Page {
    async fn enable_page(&self, _: server::Context) -> Result<(), RpcError> {
        Ok(())
    }

    async fn navigate(
        &self,
        _: server::Context,
        params: NavigateParams,
    ) -> Result<NavigatedResult, RpcError> {
        match &*params.url {
            "" => Err(RpcError::new(-32000, "Cannot navigate to invalid URL")),
            _ => Ok(NavigatedResult::new(self.0)),
        }
    }

    async fn enable_runtime(&self, _: server::Context) -> Result<(), RpcError> {
        Ok(())
    }

    async fn evaluate(
        &self,
        _: server::Context,
        _: EvaluateParams,
    ) -> Result<tabs::types::EvaluatedResult, RpcError> {
        Err(RpcError::internal_error("nothing is evaluated here"))
    }

    async fn detach(&self, _: server::Context, _: DetachParams) -> Result<(), RpcError> {
        Ok(())
    }
}

/// Attaches a target, whose events come with its session.
async fn serve(target: server::Target<tabs::BeforeAttached>, session: &str, frame: &'static str) {
    let target = target.send_attached(AttachedResult::new(session)).await.unwrap();
    target.send_load_event_fired(LoadEventFiredParams::new(1)).await.unwrap();
    target.incoming().serve(Page(frame)).await;
}

#[tokio::test]
async fn a_browser_answers_with_the_session_of_the_command() {
    in_time(async {
        let (near, mut raw) = raw();
        let browser = test_support::spawn(async move {
            let browser = Browser::new(near);
            let incoming = browser.incoming();
            let mut pages = Vec::new();
            for (session, frame) in [("S1", "F1"), ("S2", "F2")] {
                let Some(server::Incoming::Attach(params, target)) = incoming.next().await else { panic!() };
                assert_eq!(params.target_id, frame.replace('F', "T"));
                pages.push(test_support::spawn(serve(target, session, frame)));
            }
            let Some(server::Incoming::GetVersion(owed)) = incoming.next().await else { panic!() };
            owed.respond(Version::new("1.3", "Chrome/1", "@1", "u", "12")).unwrap();
            for page in pages {
                page.await.unwrap();
            }
        });
        for (id, target, session) in [(1, "T1", "S1"), (2, "T2", "S2")] {
            let params = json!({ "targetId": target, "flatten": true });
            let asked = json!({ "id": id, "method": "Target.attachToTarget", "params": params });
            assert_eq!(raw.ask(asked).await, json!({ "id": id, "result": { "sessionId": session } }));
            let fired = json!({
                "method": "Page.loadEventFired", "params": { "timestamp": 1 }, "sessionId": session,
            });
            assert_eq!(raw.hear().await, Some(fired));
        }
        let navigate = |id: i64, url: &str, session: Value| {
            let params = json!({ "url": url });
            json!({ "id": id, "method": "Page.navigate", "params": params, "sessionId": session })
        };
        let answer = raw.ask(navigate(3, "https://a.example", json!("S2"))).await;
        assert_eq!(answer, json!({ "id": 3, "result": { "frameId": "F2" }, "sessionId": "S2" }));
        // However it is written, and wherever it stands.
        raw.say_line(br#"{"s\u0065ssionId":"\u00531","params":{"url":"b"},"method":"Page.navigate","id":4}"#)
            .await;
        let answer = raw.hear().await.unwrap();
        assert_eq!(answer, json!({ "id": 4, "result": { "frameId": "F1" }, "sessionId": "S1" }));
        let error = json!({ "code": -32000, "message": "Cannot navigate to invalid URL" });
        let answer = raw.ask(navigate(5, "", json!("S1"))).await;
        assert_eq!(answer, json!({ "id": 5, "error": error, "sessionId": "S1" }));
        // What is refused is answered under the session that it names, so that the client finds the command.
        let answer = raw.ask(navigate(6, "c", json!("S3"))).await;
        assert_eq!(answer["sessionId"], "S3");
        assert!(answer["error"]["message"].as_str().unwrap().contains("nothing is running under it"));
        for (id, session) in [(10, json!(null)), (11, json!({})), (12, json!(1.5))] {
            let answer = raw.ask(navigate(id, "c", session)).await;
            assert!(answer.get("sessionId").is_none(), "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("does not carry the key"));
        }
        raw.say_line(br#"{"id":8,"method":"Page.enable","sessionId":"S1","sessionId":"S2"}"#).await;
        let answer = raw.hear().await.unwrap();
        assert_eq!(answer["error"]["message"], "`sessionId` is there twice");
        // A message of the browser itself does not need the member, and means nothing by it.
        let answer = raw.ask(json!({ "id": 9, "method": "Browser.getVersion", "sessionId": "S1" })).await;
        assert_eq!((&answer["id"], &answer["result"]["revision"]), (&json!(9), &json!("@1")));
        assert!(answer.get("sessionId").is_none(), "{answer}");
        drop(raw);
        browser.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn sessions_without_types_have_the_member_too() {
    in_time(async {
        let (near, far) = duplex();
        let mut client = CheckedSession::start(near, &tabs::PROTOCOL, Side::Client, Options::new());
        let mut browser = CheckedSession::start(far, &tabs::PROTOCOL, Side::Server, Options::new());
        let params = json!({ "targetId": "T1", "flatten": true });
        let mut tab = client.open("Target.attachToTarget", &params).await.unwrap();
        let Event::Opened { session: mut target, id, .. } = browser.next().await.unwrap() else { panic!() };
        let id = id.unwrap();
        target.respond(&id, &json!({ "sessionId": "S1" })).await.unwrap();
        assert!(matches!(tab.next().await.unwrap(), Event::Reply { .. }));
        let asked = tab.request("Page.enable", &()).await.unwrap();
        let Event::Request { id, .. } = target.next().await.unwrap() else { panic!() };
        target.respond(&id, &json!({})).await.unwrap();
        let Event::Reply { id, .. } = tab.next().await.unwrap() else { panic!() };
        assert_eq!(id, asked);
        // The session itself has no target.
        let refused = client.request("Page.enable", &()).await;
        assert!(matches!(refused, Err(Error::NotPermitted(_))), "{refused:?}");
    })
    .await;
}

#[test]
fn an_observer_reads_the_member() {
    let mut observer = Observer::new(&tabs::PROTOCOL, Options::new()).unwrap();
    let mut see = |sender, message: Value| {
        let text = message.to_string();
        let said = observer.observe(sender, text.as_bytes());
        let said: Vec<String> =
            said.iter().flat_map(|one: &Observed| &one.reports).map(ToString::to_string).collect();
        said.join(" ")
    };
    let attach = json!({ "id": 1, "method": "Target.attachToTarget",
        "params": { "targetId": "T", "flatten": true } });
    assert_eq!(see(Side::Client, attach), "");
    assert_eq!(see(Side::Server, json!({ "id": 1, "result": { "sessionId": "S" } })), "");
    let enable = |id: i64, session: &str| json!({ "id": id, "method": "Page.enable", "sessionId": session });
    assert_eq!(see(Side::Client, enable(2, "S")), "");
    assert!(see(Side::Client, enable(3, "X")).contains("nothing is running under it"));
    let other = see(Side::Server, json!({ "id": 2, "result": {}, "sessionId": "X" }));
    assert!(other.contains("not that of what it belongs to"), "{other}");
    assert_eq!(see(Side::Server, json!({ "id": 2, "result": {}, "sessionId": "S" })), "");
    let missing = see(Side::Server, json!({ "method": "Page.loadEventFired", "params": { "timestamp": 1 } }));
    assert!(missing.contains("does not carry the key `session`"), "{missing}");
}
