// An authorization server: `oidc-provider`, on the loopback, with a user who is logged in as Ada and consents to everything.
//
// `node authorization_server.mjs FORMAT SECONDS` says where it is. Access tokens are of that format, `jwt` or `opaque`, and
// valid for so many seconds. It binds tokens to keys (DPoP) for clients that want it, and asks for a nonce in each proof.
// `/log` lists the grants that have succeeded.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

// Nothing but the address is on the standard output.
console.info = console.error;

const [format, seconds] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const scope = "notes:read notes:write";
const grants = [];

const server = createServer().listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "one" }] },
    clients: [
      // The MCP server, which asks about tokens.
      { client_id: "notes", client_secret: "asks", grant_types: [], redirect_uris: [], response_types: [] },
      // A program without a user.
      {
        client_id: "robot",
        client_secret: "works",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: { enabled: true, allowedPolicy: async () => true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_context, resource) => ({
          scope,
          audience: resource,
          accessTokenFormat: format,
          accessTokenTTL: Number(seconds),
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: ["not a secret"] },
  });
  provider.on("grant.success", (context) => grants.push(context.oidc.params.grant_type));

  // Logs in, and consents to what is asked for.
  async function interact(request, response) {
    const { prompt, params, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      return provider.interactionFinished(request, response, { login: { accountId: "ada" } });
    }
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: "ada", clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(" "));
    }
    const consent = { grantId: await grant.save() };
    return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
  }

  const answer = provider.callback();
  server.on("request", (request, response) => {
    if (request.url === "/log") {
      response.end(JSON.stringify(grants));
    } else if (request.url.startsWith("/interaction/")) {
      interact(request, response).catch((error) => {
        console.error(error);
        response.writeHead(500).end();
      });
    } else {
      answer(request, response);
    }
  });
  console.log(issuer);
});
