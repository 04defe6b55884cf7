//! A cash machine, in which a wrong PIN is a refusal: `cargo run --example cash_machine --features macros`.
//!
//! A refusal leads back to the state before the request: the customer may enter a PIN again, and the error returns the
//! session in that state. Both sides are in this program, connected by an in-memory transport.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use mcp_runtime::transport::duplex;
use mcp_runtime::{RpcError, StepError};

use machine::{CashMachineError, Customer, Machine, Served, Start, server};
use payload::{Account, Greeting, Notes, Pin, Sum};

/// The payloads.
pub(crate) mod payload {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Pin {
        pub(crate) pin: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Greeting {
        pub(crate) name: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Sum {
        pub(crate) amount: u64,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Notes {
        pub(crate) notes: Vec<u64>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Account {
        pub(crate) balance: u64,
    }
}

/// The generated code.
pub(crate) mod machine {
    mcp_runtime::protocol!("./cash_machine.session");
}

/// The code with which the machine refuses a wrong PIN.
pub(crate) const WRONG_PIN: i64 = 1;
/// The code with which the machine refuses to pay out more than the account holds.
pub(crate) const NOT_ENOUGH: i64 = 2;

#[tokio::main]
async fn main() -> Result<(), CashMachineError> {
    let (near, far) = duplex();
    let visit = visit(Customer::new(near), &["0000", "1234"]);
    let (balance, left) = tokio::join!(visit, run(Machine::new(far), "1234", 100));
    println!("the customer saw {:?} at the end, the machine has {}", balance?, left?);
    Ok(())
}

/// The customer: tries the PINs until one is correct, then withdraws too much, and then less.
async fn visit(customer: Customer<Start>, pins: &[&str]) -> Result<Option<u64>, CashMachineError> {
    let Some(mut customer) = enter(customer, pins).await? else { return Ok(None) };
    for amount in [500, 70] {
        // A withdrawal leads back to its own state, also if it is refused, so it borrows the session.
        match customer.withdraw(Sum { amount }).await {
            Ok(cash) => println!("the customer holds {:?}", cash.notes),
            Err(CashMachineError::Refused(error)) => println!("no {amount}: {}", error.message),
            Err(other) => return Err(other),
        }
    }
    let account = customer.balance().await?;
    customer.send_eject().await?.close().await?;
    Ok(Some(account.balance))
}

/// Tries one PIN after the other. If none is correct, ejects the card and ends the session.
pub(crate) async fn enter(
    mut customer: Customer<Start>,
    pins: &[&str],
) -> Result<Option<Customer<Served>>, CashMachineError> {
    for pin in pins {
        customer = match customer.authenticate(Pin { pin: (*pin).to_owned() }).await {
            Ok((greeting, customer)) => {
                println!("the machine greets {}", greeting.name);
                return Ok(Some(customer));
            }
            // The session is in the state before the request again, with all methods of that state.
            Err(StepError::Refused { error, session }) => {
                println!("{pin} is refused: {}", error.message);
                session
            }
            Err(other) => return Err(other.into_parts().1),
        };
    }
    customer.send_eject().await?.close().await?;
    Ok(None)
}

/// The machine: serves one customer, and returns the balance of the account.
pub(crate) async fn run(
    mut machine: Machine<Start>,
    right: &str,
    mut balance: u64,
) -> Result<u64, CashMachineError> {
    let mut machine = loop {
        machine = match machine.next().await? {
            server::StartNext::Authenticate(Pin { pin }, machine) if pin == right => {
                break machine.send_welcome(Greeting { name: "Ada".to_owned() }).await?;
            }
            server::StartNext::Authenticate(_, machine) => {
                machine.refuse(RpcError::new(WRONG_PIN, "this is not the PIN of the card")).await?
            }
            server::StartNext::Eject(machine) => {
                machine.close().await?;
                return Ok(balance);
            }
        };
    };
    loop {
        machine = match machine.next().await? {
            server::ServedNext::Withdraw(Sum { amount }, machine) => match balance.checked_sub(amount) {
                Some(left) => {
                    balance = left;
                    machine.send_cash(Notes { notes: count_out(amount) }).await?
                }
                None => {
                    machine.refuse(RpcError::new(NOT_ENOUGH, "there is not enough on the account")).await?
                }
            },
            server::ServedNext::Balance(machine) => machine.send_statement(Account { balance }).await?,
            server::ServedNext::Eject(machine) => {
                machine.close().await?;
                return Ok(balance);
            }
        };
    }
}

/// Returns the fewest notes that add up to the amount.
fn count_out(mut amount: u64) -> Vec<u64> {
    let mut notes = Vec::new();
    for note in [50, 20, 10, 5, 2, 1] {
        while amount >= note {
            amount -= note;
            notes.push(note);
        }
    }
    notes
}
