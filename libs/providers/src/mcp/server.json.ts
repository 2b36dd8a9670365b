import { z } from 'zod';
import { CredentialSchema, type CredentialSettings } from '../secrets/credential.js';
import { McpServerName } from './mcp.config.js';

/** The settings of an MCP server, as a `server.json` of the MCP registry describes it. */
export interface ServerProposal {
  /** A name for the setting. */
  readonly name: string;
  readonly config: {
    readonly url: string;
    readonly credential?: CredentialSettings;
    readonly requireAcceptance: true;
  };
  /** The environment variables that the operator must set. */
  readonly secrets: readonly { readonly env: string; readonly description: string }[];
}

export interface ServerFault {
  readonly field: string;
  readonly message: string;
}

const HTTP = 'streamable-http';
const Input = z.looseObject({
  value: z.string().max(2_000).optional(),
  default: z.string().max(2_000).optional(),
  description: z.string().max(2_000).default(''),
  isRequired: z.boolean().default(false),
  isSecret: z.boolean().default(false),
});
const Header = Input.extend({ name: z.string().min(1).max(100) });
const Remote = z.looseObject({
  type: z.string().max(100),
  url: z.string().max(2_048).default(''),
  headers: z.array(Header).max(20).default([]),
  variables: z.record(z.string().max(100), Input).default({}),
});
const ServerJson = z.looseObject({
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/, 'must have the form com.example/name'),
  description: z.string().min(1),
  version: z.string().min(1).max(255),
  remotes: z.array(Remote).max(20).default([]),
});

type Header = z.output<typeof Header>;
type Remote = z.output<typeof Remote>;

/**
 * Reads a `server.json`, with or without the envelope of the registry API. Only servers over Streamable HTTP can be used: a package
 * would be a program, and Rollcall starts only programs that the operator has configured. New tools always wait for an operator.
 */
export function readServerJson(document: unknown, name?: string): ServerProposal | readonly ServerFault[] {
  const inner = (document as { server?: unknown } | null)?.server ?? document;
  const read = ServerJson.safeParse(inner);
  if (!read.success) return read.error.issues.map(({ path, message }) => fault(path.map(String).join('.'), message));
  const index = read.data.remotes.findIndex(({ type }) => type === HTTP);
  const remote = read.data.remotes[index];
  if (!remote)
    return [fault('remotes', `has no server of the type ${HTTP}. A package is configured in providers.programs`)];
  const faults: ServerFault[] = [];
  const chosen = name ?? nameOf(read.data.name);
  if (!McpServerName.safeParse(chosen).success)
    faults.push(fault('name', 'cannot be used: choose a name of letters, digits, - and _'));
  const field = `remotes.${index}`;
  const url = urlOf(remote, `${field}.url`, faults);
  const needed = remote.headers.filter(
    ({ value, isSecret, isRequired }) => isSecret || (isRequired && value === undefined),
  );
  if (needed.length > 1)
    faults.push(fault(`${field}.headers`, 'requires several keys, but Rollcall can send only one key'));
  for (const { name: header } of remote.headers.filter((one) => !needed.includes(one) && one.isRequired)) {
    faults.push(fault(`${field}.headers`, `requires the fixed header ${header}, which Rollcall does not send`));
  }
  const credential = needed[0] && credentialOf(needed[0], chosen, `${field}.headers`, faults);
  if (faults.length > 0) return faults;
  return {
    name: chosen,
    config: { url, ...(credential && { credential }), requireAcceptance: true },
    secrets: credential ? [{ env: credential.env, description: needed[0]?.description ?? '' }] : [],
  };
}

function fault(field: string, message: string): ServerFault {
  return { field, message };
}

/** Converts the last part of a name to a name for the settings: `com.example/weather.data` becomes `weather-data`. */
function nameOf(serverName: string): string {
  const last = serverName
    .slice(serverName.indexOf('/') + 1)
    .split(/[^A-Za-z0-9]/)
    .filter((part) => part !== '');
  return last
    .join('-')
    .slice(0, 32)
    .toLowerCase()
    .split('-')
    .filter((part) => part !== '')
    .join('-');
}

/** Replaces the variables in the URL by their fixed value or their default. */
function urlOf({ url, variables }: Remote, field: string, faults: ServerFault[]): string {
  const parts = url.split(/(\{[^{}]{1,100}\})/);
  const text = parts.map((part) => {
    if (!part.startsWith('{')) return part;
    const key = part.slice(1, -1);
    const variable = Object.hasOwn(variables, key) ? variables[key] : undefined;
    const value = variable?.value ?? variable?.default;
    if (value === undefined)
      faults.push(fault(field, `has the variable ${key} without a value: replace it in the document`));
    return encodeURIComponent(value ?? '');
  });
  const result = text.join('');
  if (!z.url({ protocol: /^https?$/ }).safeParse(result).success)
    faults.push(fault(field, 'is not an http or https URL'));
  return result;
}

/** A value such as `Bearer {token}` contains the scheme of the credential. */
function credentialOf(
  header: Header,
  server: string,
  field: string,
  faults: ServerFault[],
): CredentialSettings | undefined {
  const { name, value } = header;
  const scheme = /^([\w-]{1,50}) \{[^{}]{1,100}\}$/.exec(value ?? '')?.[1];
  const isBearer = name.toLowerCase() === 'authorization';
  const read = CredentialSchema.safeParse({
    env: `MCP_${server.toUpperCase().replaceAll('-', '_')}_KEY`,
    header: name.toLowerCase(),
    scheme: scheme ?? (isBearer ? 'Bearer' : ''),
  });
  if (read.success) return read.data;
  faults.push(...read.error.issues.map(({ message }) => fault(field, message)));
  return undefined;
}
