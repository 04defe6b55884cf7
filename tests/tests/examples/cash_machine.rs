//! Sessions of the example `cash_machine`: what is refused leaves both sides where they were.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/cash_machine/main.rs"]
mod example;

use example::machine::{CashMachineError, Customer, Machine, Start};
use example::payload::{Pin, Sum};
use example::{NOT_ENOUGH, WRONG_PIN, enter, run};
use mcp_runtime::StepError;
use mcp_runtime::transport::duplex;
use tokio::task::JoinHandle;

/// A customer in front of a machine that runs in a task of its own: the PIN is 1234, the balance 100.
fn machine() -> (Customer<Start>, JoinHandle<Result<u64, CashMachineError>>) {
    let (near, far) = duplex();
    (Customer::new(near), test_support::spawn(run(Machine::new(far), "1234", 100)))
}

fn pin(pin: &str) -> Pin {
    Pin { pin: pin.to_owned() }
}

#[tokio::test]
async fn a_wrong_pin_gives_the_state_back_and_the_right_one_goes_on() {
    let (customer, machine) = machine();
    let StepError::Refused { error, session: customer } =
        customer.authenticate(pin("0000")).await.unwrap_err()
    else {
        panic!("a wrong PIN was not refused")
    };
    assert_eq!(error.code, WRONG_PIN);
    let (greeting, customer) = customer.authenticate(pin("1234")).await.unwrap();
    assert_eq!(greeting.name, "Ada");
    customer.send_eject().await.unwrap().close().await.unwrap();
    assert_eq!(machine.await.unwrap().unwrap(), 100);
}

#[tokio::test]
async fn the_request_and_the_refusal_may_be_taken_in_two_steps() {
    let (customer, machine) = machine();
    let waiting = customer.send_authenticate(pin("0000")).await.unwrap();
    let StepError::Refused { session: customer, .. } = waiting.recv_welcome().await.unwrap_err() else {
        panic!("a wrong PIN was not refused")
    };
    customer.send_eject().await.unwrap().close().await.unwrap();
    assert_eq!(machine.await.unwrap().unwrap(), 100);
}

#[tokio::test]
async fn without_a_pin_the_card_is_returned() {
    let (customer, machine) = machine();
    assert!(enter(customer, &["1", "2", "3"]).await.unwrap().is_none());
    assert_eq!(machine.await.unwrap().unwrap(), 100);
}

#[tokio::test]
async fn what_is_withdrawn_is_gone_and_what_is_refused_is_not() {
    let (customer, machine) = machine();
    let mut customer = enter(customer, &["4321", "1234"]).await.unwrap().unwrap();
    assert_eq!(customer.withdraw(Sum { amount: 70 }).await.unwrap().notes, [50, 20]);
    let refused = customer.withdraw(Sum { amount: 31 }).await.unwrap_err();
    assert!(matches!(&refused, CashMachineError::Refused(error) if error.code == NOT_ENOUGH), "{refused}");
    assert_eq!(customer.balance().await.unwrap().balance, 30);
    assert_eq!(customer.withdraw(Sum { amount: 30 }).await.unwrap().notes, [20, 10]);
    customer.send_eject().await.unwrap().close().await.unwrap();
    assert_eq!(machine.await.unwrap().unwrap(), 0);
}
