//! [`Resource`]: a type whose fields stand in a URI, and what can be read there.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{
    BlobResourceContents, CacheScope, ReadResourceParams, ReadResourceResult, ResourceContents,
    ResourceTemplate, TextResourceContents,
};
use mcp_protocols::eras::{Asker, Changes, Context, types};
use mcp_runtime::RpcError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::super::failure::{Failure, refusal};
use super::super::schema::{description_of, name_of};
use super::client::Client;
use super::needs::Needs;
use super::not_found::ResourceNotFound;
use super::page::{ListRequest, Page};
use super::problem::Problem;
use super::prompt::{Complete, from_texts};
use super::suggestions::Suggestions;
use super::template::Template;
use super::typed::Typed;

/// Resources of a server with the state `S`, whose URIs have the fields of the type in their places.
///
/// ```
/// use mcp_kit::types::ResourceContents;
/// use mcp_kit::{Client, Failure, Resource, ResourceNotFound, text_at};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// One of the notes
/// #[derive(Deserialize, JsonSchema)]
/// struct Note {
///     id: usize,
/// }
///
/// impl Resource<Vec<String>> for Note {
///     const URI: &'static str = "notes://{id}";
///     type Needs = ();
///
///     async fn read(self, notes: &Vec<String>, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
///         Ok(text_at(uri, notes.get(self.id).ok_or(ResourceNotFound::at(uri))?))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource of a server with the state `{S}`",
    note = "write `impl Resource<{S}> for {Self}`, and derive `Deserialize` and `JsonSchema` for it"
)]
pub trait Resource<S: Sync>: DeserializeOwned + JsonSchema + Send + 'static {
    /// The URI, or its template: `{id}` is the field `id`, and `{+path}` the field `path`, which may have several segments.
    const URI: &'static str;

    /// What the resource needs of the client.
    type Needs: Needs;

    /// The MIME type, if all have the same.
    const MIME_TYPE: Option<&'static str> = None;

    /// Reads what is there; [`ResourceNotFound`] if nothing is.
    fn read(
        self,
        state: &S,
        uri: &str,
        client: Client<Self::Needs>,
    ) -> impl Future<Output = Result<ResourceContents, Failure>> + Send;

    /// The resources that a client gets in its list: all of them, which the server cuts into pages, or a [`Page`]. A
    /// URI without variables is in the list by itself.
    fn list(
        state: &S,
        request: &ListRequest,
    ) -> impl Future<Output = Result<Page<types::Resource>, Failure>> + Send {
        let _ = (state, request);
        std::future::ready(Ok(Page::default()))
    }

    /// A client wants to hear of the changes of this resource. A failure refuses that: the caller may not see it, perhaps.
    fn watch(self, state: &S, context: &Context) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (state, context);
        std::future::ready(Ok(()))
    }

    /// What else clients get of the resource where it is listed by itself, or of the template, such as a title,
    /// annotations or icons: returns the resource, whose URI, name, description and MIME type are filled in. The URI of
    /// a template is [`URI`](Self::URI), and templates have no size.
    fn describe(resource: types::Resource) -> types::Resource {
        resource
    }

    /// Suggests values for a variable of which the user has typed a part.
    fn complete(
        state: &S,
        context: &Context,
        typed: &Typed,
    ) -> impl Future<Output = Result<Suggestions, Failure>> + Send {
        let _ = (state, context, typed);
        std::future::ready(Ok(Suggestions::default()))
    }
}

/// A text, as the contents of a resource.
pub fn text_at(uri: impl Into<String>, text: impl Into<String>) -> ResourceContents {
    TextResourceContents::new(uri, text).into()
}

/// Bytes that are in Base64 already, as the contents of a resource. [`bytes_at`](super::bytes_at) encodes them.
pub fn blob_at(uri: impl Into<String>, base64: impl Into<String>) -> ResourceContents {
    BlobResourceContents::new(uri, base64).into()
}

type Read = Result<ReadResourceResult, Failure>;
type Listed = Result<Page<types::Resource>, Failure>;

/// Resources that a server has.
pub(crate) struct ResourceEntry<S> {
    pub(crate) uri: &'static str,
    template: Template,
    described: types::Resource,
    #[expect(clippy::type_complexity, reason = "it is called in one place")]
    read: Box<
        dyn Fn(Arc<S>, Asker, Changes, ReadResourceParams, Template) -> BoxFuture<'static, Read>
            + Send
            + Sync,
    >,
    list: fn(Arc<S>, Arc<ListRequest>) -> BoxFuture<'static, Listed>,
    #[expect(clippy::type_complexity, reason = "it is called in one place")]
    watch: fn(Arc<S>, Context, Template, String) -> BoxFuture<'static, Result<(), Failure>>,
    pub(crate) complete: Complete<S>,
}

impl<S: Send + Sync + 'static> ResourceEntry<S> {
    pub(crate) fn of<R: Resource<S>>() -> Result<ResourceEntry<S>, Problem> {
        let template = Template::parse(R::URI)
            .map_err(|reason| Problem::NoTemplate { uri: R::URI.to_owned(), reason })?;
        let mut resource = types::Resource::new(R::URI, name_of::<R>());
        resource.description = description_of::<R>();
        resource.mime_type = R::MIME_TYPE.map(str::to_owned);
        Ok(ResourceEntry {
            uri: R::URI,
            template,
            described: R::describe(resource),
            read: Box::new(|state, asker, changes, params, template| {
                Box::pin(async move {
                    let resource: R = resource_at(&template, &params.uri)?;
                    let contents = resource.read(&state, &params.uri, Client::new(asker, changes)).await?;
                    let contents = of_type(contents, R::MIME_TYPE);
                    Ok(ReadResourceResult::new([contents], 0, CacheScope::Private))
                })
            }),
            list: |state, request| Box::pin(async move { R::list(&state, &request).await }),
            watch: |state, context, template, uri| {
                Box::pin(async move {
                    let resource: R = resource_at(&template, &uri)?;
                    resource.watch(&state, &context).await
                })
            },
            complete: Box::new(|state, context, typed| {
                Box::pin(async move { R::complete(&state, &context, &typed).await })
            }),
        })
    }

    /// Whether a URI is one of these.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.template.values(uri).is_some()
    }

    /// The template, unless there is one URI alone.
    pub(crate) fn template(&self) -> Option<ResourceTemplate> {
        if self.template.is_fixed() {
            return None;
        }
        let described = self.described.clone();
        let mut template = ResourceTemplate::new(self.uri, described.name);
        template.title = described.title;
        template.description = described.description;
        template.mime_type = described.mime_type;
        template.annotations = described.annotations;
        template.icons = described.icons;
        template.meta = described.meta;
        Some(template)
    }

    /// The resources that are listed.
    pub(crate) async fn list(
        &self,
        state: Arc<S>,
        request: Arc<ListRequest>,
    ) -> Result<Page<types::Resource>, RpcError> {
        let mut page = (self.list)(state, request).await.map_err(refusal)?;
        let is_last = page.next_cursor.is_none();
        if is_last && self.template.is_fixed() && !page.entries.iter().any(|listed| listed.uri == self.uri) {
            page.entries.push(self.described.clone());
        }
        Ok(page)
    }

    /// A client wants to hear of the changes of a resource.
    pub(crate) async fn watch(&self, state: Arc<S>, context: Context, uri: String) -> Result<(), Failure> {
        (self.watch)(state, context, self.template.clone(), uri).await
    }

    /// Reads a resource.
    pub(crate) async fn read(
        &self,
        state: Arc<S>,
        asker: Asker,
        changes: Changes,
        params: ReadResourceParams,
    ) -> Read {
        (self.read)(state, asker, changes, params, self.template.clone()).await
    }
}

/// Contents with the MIME type of their resource, unless they have their own.
fn of_type(mut contents: ResourceContents, mime_type: Option<&str>) -> ResourceContents {
    let own = match &mut contents {
        ResourceContents::Text(contents) => &mut contents.mime_type,
        ResourceContents::Blob(contents) => &mut contents.mime_type,
        // No other kind exists.
        _ => return contents,
    };
    if own.is_none() {
        *own = mime_type.map(str::to_owned);
    }
    contents
}

/// The resource of a type that has this URI.
fn resource_at<R: DeserializeOwned + JsonSchema>(
    template: &Template,
    uri: &str,
) -> Result<R, ResourceNotFound> {
    let values = template.values(uri).ok_or_else(|| ResourceNotFound::at(uri))?;
    from_texts(values).map_err(|_| ResourceNotFound::at(uri))
}
