import { z } from 'zod';
import { untrustedData } from '../../untrusted.text.js';
import { defineTool, type ToolBox, toolBox } from '../tool.js';
import type { HttpFetchMode } from '../tools.options.js';

export const HTTP_FETCH = 'http_fetch';

const MAX_URL = 2_048;
const MAX_BODY = 64 * 1_024;
/** Space for the status line and the notice of a cut, so that the output limit does not remove the end of the label. */
const MAX_STATUS_CHARS = 200;

export interface HttpFetch {
  /** The `fetch` of an egress client, which applies the egress rules. */
  readonly fetch: typeof fetch;
  readonly mode: HttpFetchMode;
  readonly hosts: readonly string[];
  readonly maxOutputChars: number;
}

interface Request {
  url: string;
  method: string;
  body?: string;
  contentType: string;
}

export function httpFetchToolBox(options: HttpFetch): ToolBox {
  const writes = options.mode === 'write';
  const httpFetch = defineTool({
    name: HTTP_FETCH,
    description: `Sends one HTTP request (${writes ? 'GET, HEAD or POST' : 'GET or HEAD'}) without credentials and returns the response as text. Redirects are not followed.`,
    input: writes ? WriteInput : ReadInput,
    idempotent: !writes,
    execute: async (input, { signal }) => await send({ contentType: '', ...input }, options, signal),
  });
  return toolBox(HTTP_FETCH, [httpFetch]);
}

const Url = z.url({ protocol: /^https?$/ }).max(MAX_URL);
const ReadInput = z.strictObject({ url: Url, method: z.enum(['GET', 'HEAD']).default('GET') });
const WriteInput = z
  .strictObject({
    url: Url,
    method: z.enum(['GET', 'HEAD', 'POST']).default('GET'),
    body: z.string().max(MAX_BODY).optional().describe('Only for POST.'),
    contentType: z
      .enum(['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      .default('application/json'),
  })
  .refine(({ method, body }) => method === 'POST' || body === undefined, { message: 'only POST has a body' });

async function send(request: Request, options: HttpFetch, signal: AbortSignal): Promise<string> {
  const { url, method, body } = request;
  const { hostname } = new URL(url);
  if (!isHostAllowed(hostname, options.hosts))
    throw new Error(`The operator does not allow requests to ${hostname}. Allowed: ${options.hosts.join(', ')}.`);
  const headers = {
    accept: 'text/*, application/json',
    ...(body !== undefined && { 'content-type': request.contentType }),
  };
  const response = await options.fetch(url, { method, headers, body, signal });
  const maxBytes = options.maxOutputChars - untrustedData(url, '').length - MAX_STATUS_CHARS;
  const text = await readText(response, Math.max(0, maxBytes));
  return `${response.status} ${mediaTypeOf(response)}\n${untrustedData(url, text)}`;
}

/** Returns the media type without its parameters: they can contain any text, which would be outside the label. */
function mediaTypeOf({ headers }: Response): string {
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?=$|[\s;])/.exec(headers.get('content-type') ?? '')?.[0] ?? 'text/plain';
}

/** Reads at most this many bytes; the rest of the response is not requested. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  if (!response.body) return '';
  if (!isText(mediaTypeOf(response))) {
    await response.body.cancel();
    return '[The content is not text.]';
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxBytes) break;
  }
  const text = Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
  return bytes > maxBytes ? `${text}\n[Cut: the response is longer.]` : text;
}

function isText(type: string): boolean {
  return /^(text\/|application\/([\w.-]+\+)?(json|xml|yaml|javascript|x-www-form-urlencoded)$)/i.test(type);
}

/** Whether the host is on the list. `*.example.com` means all hosts below `example.com`. An empty list allows all hosts. */
export function isHostAllowed(hostname: string, allowed: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return allowed.length === 0 || allowed.some((entry) => matches(entry.toLowerCase(), host));
}

function matches(entry: string, host: string): boolean {
  return entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry;
}
