//! The seam to the CEL implementation.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Program, Value};

use crate::schema::formats::regex;

/// What the rules need of a CEL implementation.
pub(crate) trait Engine {
    /// A value that expressions can be evaluated against.
    type Value: Clone;
    /// A compiled expression.
    type Program: Send + Sync;

    /// Compiles an expression, or says what is wrong with it.
    fn compile(source: &str) -> Result<Self::Program, String>;
    /// Whether an expression reads a variable.
    fn mentions(program: &Self::Program, variable: &str) -> bool;
    /// A scalar value.
    fn scalar(scalar: Scalar<'_>) -> Self::Value;
    /// A list.
    fn list(items: Vec<Self::Value>) -> Self::Value;
    /// A map or object, with its members under the names that expressions use.
    fn map(members: Vec<(String, Self::Value)>) -> Self::Value;
    /// An optional value.
    fn optional(value: Option<Self::Value>) -> Self::Value;
    /// Evaluates expressions in one scope.
    fn evaluate(variables: &[(&str, Self::Value)], programs: &[&Self::Program]) -> Vec<Result<Answer, String>>;
    /// What an expression comes to, for others to use.
    fn value(variables: &[(&str, Self::Value)], program: &Self::Program) -> Result<Self::Value, String>;
}

/// A scalar on its way into an expression.
#[derive(Clone, Copy)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'a str),
    /// Decoded bytes of a `format: byte` string.
    Bytes(&'a [u8]),
    /// RFC 3339 text.
    Timestamp(&'a str),
    /// Duration text such as `1h30m`.
    Duration(&'a str),
}

/// What an expression came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Bool(bool),
    Text(String),
    Other,
}

/// The implementation in use.
pub(crate) struct KubeCel;

thread_local! {
    static ROOT: Context<'static> = root();
}

fn root() -> Context<'static> {
    let mut context = Context::default().with_all();
    // The built-in counts bytes; the API server counts characters.
    context.add_function("size", |This(value): This<Value>| -> Result<i64, ExecutionError> {
        let size = match &value {
            Value::List(items) => items.len(),
            Value::Map(map) => map.map.len(),
            Value::String(text) => text.chars().count(),
            Value::Bytes(bytes) => bytes.len(),
            other => return Err(ExecutionError::function_error("size", format!("no such overload for {other:?}"))),
        };
        i64::try_from(size).map_err(|error| ExecutionError::function_error("size", error))
    });
    // The built-in compiles its pattern at every call.
    context.add_function(
        "matches",
        |This(text): This<Arc<String>>, pattern: Arc<String>| -> Result<bool, ExecutionError> {
            match regex(&pattern) {
                Ok(regex) => Ok(regex.is_match(&text)),
                Err(error) => Err(ExecutionError::function_error("matches", error)),
            }
        },
    );
    context.add_function("dyn", |value: Value| -> Result<Value, ExecutionError> { Ok(value) });
    context
}

/// Lets CEL itself read a timestamp or duration, so that no second parser has to agree with it.
fn parsed(source: &str, text: &str) -> Option<Value> {
    let program = Program::compile(source).ok()?;
    ROOT.with(|root| {
        let mut scope = root.new_inner_scope();
        scope.add_variable_from_value("text", text);
        program.execute(&scope).ok()
    })
}

fn explain(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        other => other.to_string(),
    }
}

impl Engine for KubeCel {
    type Value = Value;
    type Program = Program;

    fn compile(source: &str) -> Result<Program, String> {
        Program::compile(source).map_err(|error| error.to_string())
    }

    fn mentions(program: &Program, variable: &str) -> bool {
        program.references().has_variable(variable)
    }

    fn scalar(scalar: Scalar<'_>) -> Value {
        let text = |text: &str| Value::String(Arc::new(text.to_owned()));
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(bool) => Value::Bool(bool),
            Scalar::Int(int) => Value::Int(int),
            Scalar::Double(double) => Value::Float(double),
            Scalar::Text(string) => text(string),
            Scalar::Bytes(bytes) => Value::Bytes(Arc::new(bytes.to_vec())),
            Scalar::Timestamp(string) => parsed("timestamp(text)", string).unwrap_or_else(|| text(string)),
            Scalar::Duration(string) => parsed("duration(text)", string).unwrap_or_else(|| text(string)),
        }
    }

    fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(items))
    }

    fn map(members: Vec<(String, Value)>) -> Value {
        let map: HashMap<Key, Value> =
            members.into_iter().map(|(name, value)| (Key::String(Arc::new(name)), value)).collect();
        Value::Map(Map { map: Arc::new(map) })
    }

    fn optional(value: Option<Value>) -> Value {
        Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
    }

    fn evaluate(variables: &[(&str, Value)], programs: &[&Program]) -> Vec<Result<Answer, String>> {
        ROOT.with(|root| {
            let mut scope = root.new_inner_scope();
            for (name, value) in variables {
                scope.add_variable_from_value(*name, value.clone());
            }
            let evaluate = |program: &&Program| match program.execute(&scope) {
                Ok(Value::Bool(bool)) => Ok(Answer::Bool(bool)),
                Ok(Value::String(text)) => Ok(Answer::Text(text.to_string())),
                Ok(_) => Ok(Answer::Other),
                Err(error) => Err(explain(&error)),
            };
            programs.iter().map(evaluate).collect()
        })
    }

    fn value(variables: &[(&str, Value)], program: &Program) -> Result<Value, String> {
        ROOT.with(|root| {
            let mut scope = root.new_inner_scope();
            for (name, value) in variables {
                scope.add_variable_from_value(*name, value.clone());
            }
            program.execute(&scope).map_err(|error| explain(&error))
        })
    }
}
