import { z } from 'zod';
import { NamespacesSchema } from '../namespace.restriction.js';
import { CredentialSchema } from '../secrets/credential.js';
import { EnvName } from '../secrets/secret.js';

const HttpUrl = z.url({ protocol: /^https?$/ });

/** The name of a server. It is part of the names of the server's tools, `mcp__server__tool`, so it has no double underscore. */
export const McpServerName = z
  .string()
  .max(32)
  .regex(/^[a-z0-9]+([-_][a-z0-9]+)*$/i);

/** Limits and policies that do not depend on how the server is reached. */
const COMMON = {
  /** The time limit of one request. */
  timeoutMs: z.int().min(100).max(600_000).default(60_000),
  /** The time limit to start the server and agree on a protocol version. */
  startTimeoutMs: z.int().min(100).max(600_000).default(30_000),
  /** Whether an operator must accept each new tool before an agent can use it. */
  requireAcceptance: z.boolean().default(false),
  /** Whether each call of its tools must be approved. */
  needsApproval: z.boolean().default(false),
  /** Who may approve a call of its tools; implies `needsApproval`. Absent: an operator. */
  approve: z.enum(['operator', 'caller']).optional(),
  namespaces: NamespacesSchema,
};

/** How Rollcall requests tokens for itself, with the client credentials of OAuth 2.0. */
const ClientCredentialsSchema = z.strictObject({
  tokenUrl: HttpUrl,
  clientIdEnv: EnvName,
  clientSecretEnv: EnvName,
  scope: z.string().max(1_000).optional(),
});

const HttpServerSchema = z
  .strictObject({
    url: HttpUrl,
    credential: CredentialSchema.optional(),
    clientCredentials: ClientCredentialsSchema.optional(),
    ...COMMON,
  })
  .refine(
    (server) => !(server.credential && server.clientCredentials),
    'use credential or clientCredentials, not both',
  );

/** `program` is the name of one of the programs that the operator allows. */
const ProgramServerSchema = z.strictObject({ program: z.string().min(1), ...COMMON });

const McpServerConfigSchema = z.union([HttpServerSchema, ProgramServerSchema]);
export const McpServersSchema = z.record(McpServerName, McpServerConfigSchema);

export type McpServerConfig = z.output<typeof McpServerConfigSchema>;
export type McpHttpServer = z.output<typeof HttpServerSchema>;
export type ClientCredentials = z.output<typeof ClientCredentialsSchema>;
