//! What makes payloads easier to use that differ between the revisions with a handshake and the one without: each of the two
//! has types of its own for them.

macro_rules! helpers {
    // What structured content is: an object, or any value.
    ($structured:ty) => {
        impl CallToolParams {
            /// Adds an argument.
            #[must_use]
            pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
                self.arguments.get_or_insert_default().insert(name.into(), value.into());
                self
            }

            /// The argument with a name, if the call has it.
            pub fn argument(&self, name: &str) -> Option<&Value> {
                self.arguments.as_ref()?.get(name)
            }

            /// Reads all arguments as a type. A call without arguments is read as an empty object.
            ///
            /// # Errors
            /// The arguments do not fit the type. For the model that made the call, the text of the error is what it needs: return
            /// it with [`CallToolResult::error`].
            ///
            /// ```
            /// # use mcp_protocols::types::CallToolParams;
            /// #[derive(serde::Deserialize)]
            /// struct Place { city: String }
            ///
            /// let params = CallToolParams::new("weather").with_argument("city", "Ulm");
            /// assert_eq!(params.read_arguments::<Place>()?.city, "Ulm");
            /// # Ok::<(), serde_json::Error>(())
            /// ```
            pub fn read_arguments<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
                T::deserialize(Value::Object(self.arguments.clone().unwrap_or_default()))
            }
        }

        impl CallToolResult {
            /// A result that is one text.
            pub fn text(text: impl Into<String>) -> Self {
                CallToolResult::new([TextContent::new(text).into()])
            }

            /// The result of a tool that failed, with what went wrong, as text for the model. An error reply would say that the
            /// tool was not run.
            pub fn error(text: impl Into<String>) -> Self {
                CallToolResult::text(text).is_error(true)
            }

            /// A result that programs read: structured content, and the same as text for clients that know only that.
            ///
            /// ```
            /// # use mcp_protocols::types::{CallToolResult, Object};
            /// let result = CallToolResult::structured(Object::from_iter([("sum".to_owned(), 3.into())]));
            /// assert_eq!(result.first_text(), Some(r#"{"sum":3}"#));
            /// ```
            pub fn structured(value: impl Into<$structured>) -> Self {
                let value = value.into();
                // A value of JSON can be written.
                let text = serde_json::to_string(&value).unwrap_or_default();
                CallToolResult::text(text).structured_content(value)
            }

            /// The first text of the content.
            pub fn first_text(&self) -> Option<&str> {
                self.content.iter().find_map(ContentBlock::as_text)
            }
        }

        impl GetPromptParams {
            /// Adds an argument.
            #[must_use]
            pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.arguments.get_or_insert_default().insert(name.into(), value.into());
                self
            }

            /// The argument with a name, if the request has it.
            pub fn argument(&self, name: &str) -> Option<&str> {
                self.arguments.as_ref()?.get(name).map(String::as_str)
            }
        }

        impl SamplingContentBlock {
            /// The text, if this is one.
            pub fn as_text(&self) -> Option<&str> {
                match self {
                    SamplingContentBlock::Text(content) => Some(&content.text),
                    _ => None,
                }
            }
        }

        impl SamplingContent {
            /// The first text of the content.
            pub fn first_text(&self) -> Option<&str> {
                match self {
                    SamplingContent::Block(block) => block.as_text(),
                    SamplingContent::List(blocks) => blocks.iter().find_map(SamplingContentBlock::as_text),
                }
            }
        }

        /// A message with one text is the common case, so a text needs no step between.
        impl From<TextContent> for SamplingContent {
            fn from(content: TextContent) -> SamplingContent {
                SamplingContentBlock::from(content).into()
            }
        }
    };
}

mod with_handshake {
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use crate::types::{
        CallToolParams, CallToolResult, ContentBlock, GetPromptParams, Object, SamplingContent,
        SamplingContentBlock, TextContent,
    };

    helpers! { Object }
}

#[cfg(feature = "2026-07-28")]
mod without_handshake {
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use crate::mcp_2026_07_28::types::{
        CallToolParams, CallToolResult, ContentBlock, GetPromptParams, SamplingContent, SamplingContentBlock,
        TextContent,
    };

    helpers! { Value }
}
