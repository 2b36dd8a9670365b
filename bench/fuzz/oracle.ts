import type { FuzzCase, HttpCase } from './fuzz-case.js';
import type { Exchange } from './sender.js';

export type FaultKind =
  | 'server-error'
  | 'late'
  | 'no-answer'
  | 'bad-http'
  | 'not-a-problem'
  | 'amplified'
  | 'stack-trace'
  | 'logged-error'
  | 'exit'
  | 'heap-growth';

export interface Fault {
  kind: FaultKind;
  /** Distinguishes faults of the same kind and operation, for example by status and code. */
  detail: string;
  /** The response, shortened. */
  answer: string;
}

export const LATE_MS = 1_000;
const MAX_ERROR_BYTES = 64 * 1_024;
const SMALL_ERROR = 16 * 1_024;
const MAX_FACTOR = 4;
const STACK = /\n\s+at .+[:(]\d+|node:internal\/|node_modules\/|\/dist\/(apps|libs)\//;
const SHOWN = 600;

/** Returns all faults of a response except lateness, because a late request is repeated first. */
export function judge(request: FuzzCase, exchange: Exchange, mayStaySilent: boolean): Fault[] {
  const { head, fault } = exchange;
  const answer = describeAnswer(exchange);
  if (!head) return mayStaySilent || exchange.timedOut ? [] : [{ kind: 'no-answer', detail: '', answer }];
  if (fault !== undefined) return mayStaySilent ? [] : [{ kind: 'bad-http', detail: fault, answer }];
  if (head.status < 400) return leaks(exchange) ? [{ kind: 'stack-trace', detail: String(head.status), answer }] : [];
  const faults: Fault[] = [];
  const code = codeOf(exchange.body);
  const detail = `${head.status} ${code ?? ''}`.trim();
  if (head.status >= 500) faults.push({ kind: 'server-error', detail, answer });
  if (leaks(exchange)) faults.push({ kind: 'stack-trace', detail, answer });
  if (isAmplified(exchange)) faults.push({ kind: 'amplified', detail, answer });
  if (!isProblem(request, exchange)) faults.push({ kind: 'not-a-problem', detail, answer });
  return faults;
}

export function isLate({ ms, timedOut }: Exchange, clientDelayMs: number): boolean {
  return timedOut || ms - clientDelayMs > LATE_MS;
}

export function lateFault(exchange: Exchange): Fault {
  const status = exchange.head?.status ?? 'none';
  return {
    kind: 'late',
    detail: `status ${status}`,
    answer: `after ${Math.round(exchange.ms)} ms: ${describeAnswer(exchange)}`,
  };
}

export function leaksStack(text: string): boolean {
  return STACK.test(text);
}

export function describeAnswer({ head, body, received, fault }: Exchange): string {
  if (!head) return `no answer${fault === undefined ? '' : ` (${fault})`}`;
  return `${head.status} ${head.headers.get('content-type') ?? ''} ${received} bytes: ${body.toString('utf8', 0, SHOWN)}`;
}

function leaks({ head, body }: Exchange): boolean {
  const page = head?.headers.get('content-type')?.includes('html') ?? false;
  return !page && leaksStack(body.toString('latin1', 0, MAX_ERROR_BYTES));
}

function isAmplified({ sent, body }: Exchange): boolean {
  return body.length > MAX_ERROR_BYTES || (body.length > SMALL_ERROR && body.length > MAX_FACTOR * sent);
}

function isProblem(request: FuzzCase, { head, body }: Exchange): boolean {
  if (request.kind === 'http' && request.isProtocol) return isHead(request) || isErrorOfProtocol(body);
  const typed = head?.headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  if (isHead(request)) return typed;
  return typed && codeOf(body) !== undefined;
}

/** A2A and MCP have an object `error`; catalogs have an `errorCode` or a problem. */
function isErrorOfProtocol(body: Buffer): boolean {
  try {
    const answer = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    return ['error', 'errorCode', 'code'].some((name) => Object.hasOwn(answer, name));
  } catch {
    return false; // the body is not JSON
  }
}

/** An error at the top of the message, or the result of a tool that failed. Tasks in a list may contain errors of their own. */
const PROTOCOL_ERROR =
  /^(?:\w+:[^\n{]*\n)*(?:data: ?)?\{(?:"(?:jsonrpc|id)":(?:"[^"]*"|\w+),)*"error":\{|"isError":true/;

/** Whether the operation did what was asked: over JSON-RPC, an error is a 200. */
export function hasSucceeded(request: FuzzCase, { head, body }: Exchange): boolean {
  if (!head || (head.status !== 101 && Math.floor(head.status / 100) !== 2)) return false;
  const isRpc = request.kind === 'http' && request.isProtocol === true;
  return !isRpc || !PROTOCOL_ERROR.test(body.toString('latin1', 0, MAX_ERROR_BYTES));
}

function isHead(request: FuzzCase): request is HttpCase {
  return request.kind === 'http' && request.method === 'HEAD';
}

/** The `code` of a problem. */
export function codeOf(body: Buffer): string | undefined {
  try {
    const { code } = JSON.parse(body.toString('utf8')) as { code?: unknown };
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined; // the body is not JSON, so it has no code
  }
}
