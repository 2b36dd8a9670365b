import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import type { QueryBody } from '#rollcall/client';
import { Commands } from '../../parts/commands.js';
import { amountOf, Choice, Field, partsOf, TextField } from '../../parts/fields.js';
import { useCaller } from '../../session/session.js';

type Filter = NonNullable<QueryBody['filter']>;

const STRATEGIES = ['cheapest', 'fastest', 'least-loaded', 'round-robin'] as const;

/** The strategies of this server, those of plugins after the others. */
export function useStrategies(): readonly string[] {
  const { api, may } = useCaller();
  const { data } = useQuery({
    queryKey: ['plugins'],
    enabled: may('models:read'),
    queryFn: async ({ signal }) => (await api.plugins.list({ signal })).items,
  });
  return [...STRATEGIES, ...(data ?? []).flatMap(({ parts }) => parts['strategies'] ?? [])];
}

interface QuestionProps {
  query: QueryBody;
  onChange: (query: QueryBody) => void;
}

/** The question as a form or as the JSON of the request. */
export function Question({ query, onChange }: QuestionProps): ReactNode {
  const [isJson, setJson] = useState(false);
  return (
    <section className="card">
      <header>
        <h2>The question</h2>
        <span className="space" />
        <span className="segments" role="group" aria-label="Write the question as">
          <button type="button" aria-pressed={!isJson} onClick={() => setJson(false)}>
            Form
          </button>
          <button type="button" aria-pressed={isJson} onClick={() => setJson(true)}>
            JSON
          </button>
        </span>
      </header>
      <div className="padded">
        {isJson ? <AsJson query={query} onChange={onChange} /> : <AsForm query={query} onChange={onChange} />}
        <Commands request={{ method: 'POST', path: '/v1/agents/query', body: { ...query, explain: true } }} />
      </div>
    </section>
  );
}

/** Without fields that mean nothing. */
function tidied<T extends object>(value: T): T {
  const isEmpty = (part: unknown): boolean =>
    part === null ||
    part === undefined ||
    part === '' ||
    part === false ||
    (typeof part === 'object' && Object.keys(part).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, part]) => !isEmpty(part))) as T;
}

const listText = (names: string[] | undefined): string => (names ?? []).join(', ');
const amountText = (amount: number | null | undefined): string =>
  amount === null || amount === undefined ? '' : String(amount);

function AsForm({ query, onChange }: QuestionProps): ReactNode {
  const strategies = useStrategies();
  const fuzzyId = useId();
  const { capabilities, any, none, prefer = STRATEGIES[0], filter = {}, fuzzy = false, limit } = query;
  const change = (part: Partial<QueryBody>): void => onChange(tidied({ ...query, ...part }));
  const narrow = (part: Partial<Record<keyof Filter, unknown>>): void =>
    change({ filter: tidied({ ...filter, ...part }) as Filter });
  const list = (label: string, name: 'capabilities' | 'any' | 'none', placeholder: string): ReactNode => (
    <TextField
      label={label}
      placeholder={placeholder}
      value={{ capabilities, any, none }[name]}
      show={listText}
      read={partsOf}
      onChange={(names) => change({ [name]: names })}
    />
  );
  const amount = (label: string, name: 'maxUsdPerTask' | 'maxUsdPer1kTokens' | 'minRemainingTokens'): ReactNode => (
    <TextField<number | null>
      label={label}
      inputMode="decimal"
      value={filter[name] ?? null}
      show={amountText}
      read={amountOf}
      onChange={(value) => narrow({ [name]: value })}
    />
  );
  return (
    <>
      {list('Capabilities, all of', 'capabilities', 'build, code.review')}
      <Choice
        label="Ranked by"
        value={prefer}
        choices={strategies.includes(prefer) ? strategies : [...strategies, prefer]}
        onChange={(next) => change({ prefer: next })}
      />
      <details className="more" open={Object.keys(filter).length > 0 || any !== undefined || none !== undefined}>
        <summary>More conditions</summary>
        <div className="form">
          {list('Capabilities, at least one of', 'any', 'plan, review')}
          {list('Capabilities, none of', 'none', 'deploy')}
          <TextField
            label="Provider is paid by"
            placeholder="subscription"
            value={filter.provider?.type ?? ''}
            show={(text) => text}
            read={(text) => text.trim()}
            onChange={(type) => narrow({ provider: tidied({ ...filter.provider, type }) })}
          />
          <TextField
            label="Labels"
            placeholder="team=platform, zone=eu"
            value={filter.labels}
            show={labelText}
            read={labelsOf}
            onChange={(labels) => narrow({ labels })}
          />
          <div className="grid two">
            {amount('USD per task, at most', 'maxUsdPerTask')}
            {amount('USD per 1k tokens', 'maxUsdPer1kTokens')}
            {amount('Tokens left, at least', 'minRemainingTokens')}
            <TextField<number | null>
              label="Sandbox level, from"
              inputMode="numeric"
              value={levelOf(filter)}
              show={amountText}
              read={amountOf}
              onChange={(min) => narrow({ sandboxLevel: min === null ? undefined : { min } })}
            />
            <TextField<number | null>
              label="Candidates shown"
              inputMode="numeric"
              placeholder="10"
              value={limit ?? null}
              show={amountText}
              read={amountOf}
              onChange={(most) => change({ limit: most ?? undefined } as Partial<QueryBody>)}
            />
          </div>
          <label className="check" htmlFor={fuzzyId}>
            <input
              id={fuzzyId}
              type="checkbox"
              checked={fuzzy}
              onChange={({ target }) => change({ fuzzy: target.checked })}
            />
            Accept a similar spelling if no agent claims the exact one
          </label>
        </div>
      </details>
    </>
  );
}

function levelOf({ sandboxLevel }: Filter): number | null {
  if (typeof sandboxLevel === 'number') return sandboxLevel;
  return sandboxLevel?.min ?? null;
}

function labelText(labels: Record<string, string> | undefined): string {
  return Object.entries(labels ?? {})
    .map((pair) => pair.join('='))
    .join(', ');
}

function labelsOf(text: string): Record<string, string> | undefined {
  const pairs = partsOf(text).map((part) => part.split('='));
  if (pairs.some(({ length }) => length !== 2)) return undefined;
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name.trim(), value.trim()]));
}

function AsJson({ query, onChange }: QuestionProps): ReactNode {
  const [text, setText] = useState(JSON.stringify(query, null, 2));
  const [error, setError] = useState<string>();
  const change = (next: string): void => {
    setText(next);
    const read = parsed(next);
    setError(read === undefined ? 'This is not a JSON object.' : undefined);
    if (read) onChange(read);
  };
  return (
    <Field label="Body of POST /v1/agents/query">
      {(id) => (
        <>
          <textarea
            id={id}
            className="field mono"
            rows={12}
            spellCheck={false}
            aria-invalid={error !== undefined}
            value={text}
            onChange={({ target }) => change(target.value)}
          />
          {error !== undefined && (
            <small className="form-error" role="alert">
              {error}
            </small>
          )}
        </>
      )}
    </Field>
  );
}

function parsed(text: string): QueryBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // it is being written
  }
}
