//! The lists of a server, with all their pages.

use mcp_runtime::Error;

use super::connected::{Client, Way};
use crate::mcp_2026_07_28::types::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedParams,
    Prompt, Resource, ResourceTemplate, Tool,
};

/// A method for each list: its entries, and the method that asks for its pages.
macro_rules! lists {
    ($($(#[$documentation:meta])* $method:ident -> $entry:ident: $pages:ident, $page:ident.$entries:ident;)*) => {
        impl<U> Client<U> { $(
            $(#[$documentation])*
            ///
            /// # Errors
            /// If a page is refused or the connection is gone; and if the pages do not end, as
            /// [`Options::max_pages`](mcp_runtime::Options::max_pages) says.
            pub async fn $method(&self) -> Result<Vec<$entry>, Error> {
                let mut all = Vec::new();
                match &self.way {
                    Way::Requests(client) => {
                        let mut pages = client.$pages(PaginatedParams::new(self.meta()));
                        while let Some(page) = pages.next().await {
                            all.extend(page?.$entries);
                        }
                    }
                    Way::Session(session) => {
                        let mut pages = session.client.$pages(None);
                        while let Some(page) = pages.next().await {
                            all.extend($page::from(page?).$entries);
                        }
                    }
                }
                Ok(all)
            }
        )* }
    };
}

lists! {
    /// Lists all tools of the server.
    all_tools -> Tool: list_tools_pages, ListToolsResult.tools;
    /// Lists all resources of the server.
    all_resources -> Resource: list_resources_pages, ListResourcesResult.resources;
    /// Lists all resource templates of the server.
    all_resource_templates -> ResourceTemplate:
        list_resource_templates_pages, ListResourceTemplatesResult.resource_templates;
    /// Lists all prompts of the server.
    all_prompts -> Prompt: list_prompts_pages, ListPromptsResult.prompts;
}
