//! Payloads that are written where they are used: records, lists and unions, called after their messages.

use mcp_runtime::transport::duplex;

use crate::in_time;
use tokens::client::AfterCompleteNext;
use tokens::types::{
    CompleteParams, DoneResult, DoneResultUsage, RatingParams, RatingParamsStars, TokenParams,
    TokenParamsPiece, TokenParamsPieceValue,
};
use tokens::{App, Model, server};

mod tokens {
    mcp_runtime::protocol!("protocols/tokens.session");
}

#[tokio::test]
async fn they_are_types_of_their_own() {
    let (near, far) = duplex();
    let (app, model) = (App::new(near), Model::new(far));
    let asked = model.incoming();
    let model = async {
        let server::Incoming::Models(responder) = asked.next().await.unwrap() else { panic!() };
        responder.respond(vec!["small".to_owned()]).unwrap();
        let server::Incoming::Complete(params, mut answer) = asked.next().await.unwrap() else { panic!() };
        assert_eq!((params.prompt.as_str(), params.most), ("hello", Some(5)));
        let id = answer.request_id().unwrap().to_string().parse().unwrap();
        answer.send_token(TokenParams::new(id, "hi".to_owned())).await.unwrap();
        let tool = TokenParamsPieceValue::new("clock");
        answer.send_token(TokenParams::new(id, TokenParamsPiece::Value(tool))).await.unwrap();
        answer.send_done(DoneResult::new("hi", DoneResultUsage::new(2))).await.unwrap();
        let server::Incoming::Rating(rating) = asked.next().await.unwrap() else { panic!() };
        assert_eq!(rating.unwrap().stars, RatingParamsStars::Two);
    };
    let app = async {
        assert_eq!(app.models().await.unwrap(), ["small"]);
        let mut answer = app.send_complete(CompleteParams::new("hello").most(5)).await.unwrap();
        assert_eq!(answer.recv_token().await.unwrap().piece, TokenParamsPiece::Text("hi".to_owned()));
        let AfterCompleteNext::Token(second, answer) = answer.next().await.unwrap() else { panic!() };
        assert!(matches!(second.piece, TokenParamsPiece::Value(called) if called.tool == "clock"));
        assert_eq!(answer.recv_done().await.unwrap().usage.tokens, 2);
        app.send_rating(Some(RatingParams::new(RatingParamsStars::Two))).await.unwrap();
        app.close().await.unwrap();
    };
    in_time(async { tokio::join!(app, model) }).await;
}
