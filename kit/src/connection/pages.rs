//! The lists of a server, all pages of them or one.

use mcp_protocols::eras::types::{PaginatedParams, Prompt, Resource, ResourceTemplate, Tool};
use mcp_runtime::{Error, ViolationKind};

use super::super::server::Page;
use super::connected::Connection;

/// Two methods for each list: all entries, and one page of them.
macro_rules! lists {
    ($(
        $(#[$all_documentation:meta])*
        $all:ident from $all_of_client:ident,
        $(#[$page_documentation:meta])*
        $page:ident from $page_of_client:ident.$entries:ident -> $entry:ident;
    )*) => {
        impl Connection { $(
            $(#[$all_documentation])*
            ///
            /// # Errors
            /// If the server refuses, or the connection is gone.
            pub async fn $all(&self) -> Result<Vec<$entry>, Error> {
                offered(self.client().$all_of_client().await)
            }

            $(#[$page_documentation])*
            ///
            /// # Errors
            /// If the server refuses, as it does for a cursor that it does not know; or the connection is gone.
            pub async fn $page(&self, cursor: Option<String>) -> Result<Page<$entry>, Error> {
                let params = PaginatedParams::new(self.client().meta());
                let params = match cursor {
                    Some(cursor) => params.cursor(cursor),
                    None => params,
                };
                let listed = self.client().$page_of_client(params).await;
                offered(listed.map(|page| Page::from(page.$entries).next_cursor(page.next_cursor)))
            }
        )* }
    };
}

lists! {
    /// All tools of the server: none if it does not offer any.
    tools from all_tools,
    /// One page of the tools of the server: the first one, or that at the cursor that the page before has. A proxy that passes a
    /// list on needs no more of it than its client wants.
    ///
    /// ```
    /// use mcp_kit::{Connection, Failure, ListRequest, Page, types};
    ///
    /// /// The tools of a server behind, without those that change something.
    /// async fn read_only(behind: &Connection, request: &ListRequest) -> Result<Page<types::Tool>, Failure> {
    ///     let mut page = behind.tools_page(request.cursor()?).await?;
    ///     let is_read_only = |tool: &types::Tool| tool.annotations.as_ref()?.read_only_hint;
    ///     page.entries.retain(|tool| is_read_only(tool) == Some(true));
    ///     Ok(page)
    /// }
    /// ```
    tools_page from list_tools.tools -> Tool;
    /// All resources of the server: none if it does not offer any.
    resources from all_resources,
    /// One page of the resources of the server, as [`tools_page`](Self::tools_page) is one of the tools.
    resources_page from list_resources.resources -> Resource;
    /// All resource templates of the server: none if it does not offer any.
    resource_templates from all_resource_templates,
    /// One page of the resource templates of the server, as [`tools_page`](Self::tools_page) is one of the tools.
    resource_templates_page from list_resource_templates.resource_templates -> ResourceTemplate;
    /// All prompts of the server: none if it does not offer any.
    prompts from all_prompts,
    /// One page of the prompts of the server, as [`tools_page`](Self::tools_page) is one of the tools.
    prompts_page from list_prompts.prompts -> Prompt;
}

/// A server that does not offer a list has nothing in it.
fn offered<T: Default>(listed: Result<T, Error>) -> Result<T, Error> {
    match listed {
        Err(Error::NotPermitted(violation))
            if matches!(violation.kind, ViolationKind::NotNegotiated { .. }) =>
        {
            Ok(T::default())
        }
        listed => listed,
    }
}
