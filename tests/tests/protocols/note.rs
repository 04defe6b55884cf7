//! The two protocols of the note that started the project run as real sessions.

use mcp_runtime::transport::duplex;

/// One loop in which either side may speak.
mod sequential {
    mcp_runtime::protocol!("protocols/note.session");
}

/// Requests and notifications in two linear channels.
mod channels {
    #![allow(
        deprecated,
        reason = "the note writes a branch behind its loop without parentheses, which is warned about"
    )]
    mcp_runtime::protocol!("protocols/note-channels.session");
}

#[tokio::test]
async fn the_first_proposal_runs() {
    use sequential::server::ActiveServerNext;
    use sequential::{McpClient, McpServer, client::ActiveClientNext};

    let (near, far) = duplex();
    let client = async {
        let client = McpClient::new(near).send_initialize().await?;
        let client = client.recv_initialize_result().await?;
        let mut client = client.send_initialized().await?;
        // What crosses a call is late; this one is taken before.
        let told = match client.next().await? {
            ActiveClientNext::ToolsListChanged => "tools",
            ActiveClientNext::ResourcesListChanged => "resources",
        };
        let client = client.send_tools_call().await?;
        let mut client = client.recv_tools_result().await?;
        client.resources_read().await?;
        client.close().await?;
        Ok::<_, sequential::NoteError>(told)
    };
    let server = async {
        let server = McpServer::new(far).recv_initialize().await?;
        let server = server.send_initialize_result().await?;
        let mut server = server.recv_initialized().await?;
        server.send_tools_list_changed().await?;
        let mut answered = 0;
        loop {
            server = match server.next().await? {
                ActiveServerNext::ToolsCall(server) => server.send_tools_result().await?,
                ActiveServerNext::ResourcesRead(server) => server.send_resources_result().await?,
                ActiveServerNext::Closed => return Ok::<_, sequential::NoteError>(answered),
            };
            answered += 1;
        }
    };
    let (told, answered) = tokio::join!(client, server);
    assert_eq!((told.unwrap(), answered.unwrap()), ("tools", 2));
}

#[tokio::test]
async fn the_second_proposal_runs_in_two_tasks() {
    use channels::{McpServer, McpSession};

    let (near, far) = duplex();
    let (requests, mut notifications) = McpSession::new(near).split();
    let (answers, mut news) = McpServer::new(far).split();

    let hearing = test_support::spawn(async move { notifications.recv_tools_list_changed().await });
    let telling = test_support::spawn(async move { news.send_tools_list_changed().await.map(|()| news) });
    let answering = test_support::spawn(async move {
        let answers = answers.recv_initialize().await?.send_initialize_result().await?;
        let answers = answers.recv_initialized().await?;
        let answers = answers.recv_tools_call().await?;
        let answers = answers.send_tools_result().await?;
        answers.ended().await;
        Ok::<_, channels::ChannelsError>(())
    });

    let requests = requests.send_initialize().await.unwrap();
    let requests = requests.recv_initialize_result().await.unwrap();
    let mut requests = requests.send_initialized().await.unwrap();
    requests.tools_call().await.unwrap();
    hearing.await.unwrap().unwrap();
    let _news = telling.await.unwrap().unwrap();
    requests.close().await.unwrap();
    answering.await.unwrap().unwrap();
}
