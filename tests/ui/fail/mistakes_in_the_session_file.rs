//! A file with two mistakes, used by a program that uses all of it: there are two errors.

mod talk {
    mcp_runtime::protocol!("broken.session");
}
use talk::server::{Context, Handler, Incoming};
use talk::types::Word;
use talk::{Active, Callee, Caller, Greeting, TalkError};

pub async fn call(transport: impl mcp_runtime::Transport) -> Result<(), TalkError> {
    let caller: Caller<Greeting> = Caller::new(transport);
    let caller = caller.send_hello().await?;
    let caller: Caller<Active> = caller.recv_welcome().await?;
    let (handle, call) = (caller.handle(), caller.ask("why?".to_owned()));
    let (one, other) = tokio::join!(call, handle.ask("why not?".to_owned()));
    println!("{} {}", one?, other?);
    caller.close().await?;
    Ok(())
}

pub async fn answer(callee: Callee<Active>) -> Result<(), TalkError> {
    let queue = callee.incoming();
    while let Some(incoming) = queue.next().await {
        match incoming {
            Incoming::Ask(question, responder) => responder.respond(question)?,
            _ => {}
        }
    }
    assert!(callee.permits(talk::messages::ASK).is_err() && talk::PROTOCOL.client.is_some());
    Ok(())
}

pub struct Oracle;

impl Handler for Oracle {
    async fn ask(&self, context: Context, params: String) -> Result<String, mcp_runtime::RpcError> {
        context.peer();
        Ok(params)
    }
}

pub fn longer(word: Word) -> Word {
    Word::new(format!("{}!", word.text))
}

fn main() {
    let _ = |callee: Callee<Active>| tokio::spawn(callee.incoming().serve(Oracle));
}
