import { useSearch } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import { apiAddress } from '../session/session.js';

/** A request of the console, as people repeat it. */
export interface ShownRequest {
  readonly method: 'POST' | 'DELETE' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly body?: unknown;
}

/** The request for a shell. The credential is not shown. */
function curlOf({ method, path, body }: ShownRequest, namespace: string | undefined): string {
  const lines = [`curl -X ${method} -H "Authorization: Bearer $ROLLCALL_KEY" ${quoted(apiAddress(path))}`];
  if (namespace !== undefined) lines.push(`  -H ${quoted(`Rollcall-Namespace: ${namespace}`)}`);
  if (body !== undefined) lines.push(`  -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`);
  return lines.join(' \\\n');
}

type Fields = Readonly<Record<string, unknown>>;
/** The words of a command after `rollcall`; undefined if it cannot say what the request says. */
type Words = (id: string, body: Fields) => (string | undefined)[] | undefined;

const noted: (verb: string) => Words = (verb) => (id, body) => ['agents', verb, id, ...optionsFrom(body, ['note'])];

/** The commands by method and path; `*` is an id. Everything else is `rollcall api`. */
const COMMANDS: Readonly<Record<string, Words>> = {
  'POST /v1/agents/*/drain': noted('drain'),
  'POST /v1/agents/*/quarantine': noted('quarantine'),
  'POST /v1/agents/*/resume': noted('resume'),
  'POST /v1/agents/*/evict': (id) => ['agents', 'evict', id, '--yes'],
  'POST /v1/agents/query': (_id, { capabilities, filter, explain, fuzzy, ...body }) => {
    const names = listOf(capabilities);
    const conditions = (filter ?? {}) as Fields;
    const isSayable = names.length > 0 && only(body, ['prefer', 'limit']) && only(conditions, Object.keys(CONDITIONS));
    if (!isSayable) return undefined;
    const flags = [fuzzy === true && '--fuzzy', explain === true && '--explain'].filter((flag) => flag !== false);
    const given = Object.entries(conditions).flatMap(([name, value]) => [CONDITIONS[name], String(value)]);
    return ['agents', 'query', ...names, ...optionsFrom(body, ['prefer', 'limit']), ...given, ...flags];
  },
  'POST /v1/runs': (_id, body) => {
    const names = ['definition', 'agent', 'conversation'];
    const { input, conversationId, ...rest } = body;
    const options = { ...rest, ...(conversationId !== undefined && { conversation: conversationId }) };
    return only(options, names) ? ['run', String(input), ...optionsFrom(options, names)] : undefined;
  },
  'POST /v1/runs/*/cancel': (id) => ['runs', 'cancel', id, '--yes'],
  'POST /v1/runs/*/retry': (id) => ['runs', 'retry', id],
  'POST /v1/runs/*/messages': (id, body) => ['runs', 'reply', id, String(body['input'])],
  'POST /v1/runs/*/approvals': (id, { callId, approved, reason }) => {
    const verdict = approved === true ? [] : ['--reject'];
    return ['approve', id, '--call', String(callId), ...verdict, ...optionsFrom({ reason }, ['reason'])];
  },
  'POST /v1/budgets/*/topup': (id, { microUsd, ...body }) => {
    const usd = typeof microUsd === 'number' ? ['--usd', String(microUsd / 1_000_000)] : [];
    return ['budgets', 'topup', id, ...optionsFrom(body, ['tokens']), ...usd, ...optionsFrom(body, ['note'])];
  },
};

/** The conditions of a query that have an option. */
const CONDITIONS: Readonly<Record<string, string>> = {
  maxUsdPerTask: '--max-usd-per-task',
  minRemainingTokens: '--min-tokens',
};

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function only(body: Fields, names: readonly string[]): boolean {
  return Object.keys(body).every((name) => names.includes(name));
}

function optionsFrom(body: Fields, names: readonly string[]): string[] {
  return names.flatMap((name) => (body[name] === undefined ? [] : [`--${name}`, String(body[name])]));
}

/** The request as a command of the command line. */
function rollcallOf(request: ShownRequest, namespace: string | undefined): string {
  const { method, path, body } = request;
  const [, collection = '', id = '', verb = ''] = /^\/v1\/([\w-]+)\/?([^/]*)\/?(.*)$/.exec(path) ?? [];
  const names = [`${method} ${path}`, `${method} /v1/${collection}/*/${verb}`];
  const words = names.map((name) => COMMANDS[name]).find((one) => one !== undefined);
  const chosen = words?.(decodeURIComponent(id), (body ?? {}) as Fields) ?? [
    'api',
    method,
    path,
    ...(body === undefined ? [] : ['--data', JSON.stringify(body)]),
  ];
  const all = ['rollcall', ...chosen, ...(namespace === undefined ? [] : ['--namespace', namespace])];
  return all.map((word) => quoted(word ?? '')).join(' ');
}

/** A word of a shell. */
function quoted(text: string): string {
  return /^[\w.,:/@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The request as commands that people can copy. */
export function Commands({ request }: { request: ShownRequest }): ReactNode {
  const { ns } = useSearch({ from: '__root__' });
  return (
    <details className="commands">
      <summary>As a command</summary>
      <Command label="curl" text={curlOf(request, ns)} />
      <Command label="rollcall" text={rollcallOf(request, ns)} />
    </details>
  );
}

function Command({ label, text }: { label: string; text: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const shown = useRef<HTMLPreElement>(null);
  const copy = async (): Promise<void> => {
    // without HTTPS, browsers have no clipboard: the text is selected instead
    if (!isSecureContext) return void (shown.current && getSelection()?.selectAllChildren(shown.current));
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="command">
      <pre ref={shown} tabIndex={0} aria-label={`The request as a ${label} command`}>
        {text}
      </pre>
      <button
        className="button"
        type="button"
        aria-label={`Copy the ${label} command`}
        onClick={() => void copy()}
        onBlur={() => setCopied(false)}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
