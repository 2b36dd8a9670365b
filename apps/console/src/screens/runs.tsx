import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { RunSummary } from '#rollcall/client';
import { count, money, plain, spanText, words } from '../parts/format.js';
import { Ago, Tag, useNow, useTitle } from '../parts/parts.js';
import { Empty, Loaded } from '../parts/states.js';
import { useCaller } from '../session/session.js';
import { runTone } from './run-words.js';

const PAGE = 50;
const STATES = ['queued', 'running', 'waiting', 'completed', 'failed', 'stopped', 'refused', 'cancelled'] as const;

/** The runs of the namespace, the newest first. Delegated runs are inside of the run that delegated them. */
export function Runs(): ReactNode {
  useTitle('Runs');
  const { api } = useCaller();
  const { state, agent } = useSearch({ from: '/runs' });
  const isState = STATES.find((one) => one === state);
  const filter = { ...(isState && { state: [isState] }), ...(agent !== undefined && { agent }) };
  const list = useInfiniteQuery({
    queryKey: ['runs', 'list', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.runs.list({ ...filter, limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const runs = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  return (
    <section className="card">
      <Filters state={state} agent={agent} />
      <Loaded query={{ data: runs, error: list.error }}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>
              {Object.keys(filter).length > 0 ? (
                'No run matches. Choose “all” or another agent.'
              ) : (
                <>
                  There is no run yet. <code>POST /v1/runs</code> starts one.
                </>
              )}
            </Empty>
          ) : (
            <RunTable runs={rows} />
          )
        }
      </Loaded>
      {list.hasNextPage && (
        <div className="padded">
          <div className="buttons">
            <button
              className="button"
              type="button"
              disabled={list.isFetchingNextPage}
              onClick={() => void list.fetchNextPage()}
            >
              Show older runs
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

function Filters({ state, agent }: Record<'state' | 'agent', string | undefined>): ReactNode {
  const navigate = useNavigate({ from: '/runs' });
  const choose = (next: string | undefined): void =>
    void navigate({
      search: ({ state: _state, ...rest }) => ({ ...rest, ...(next !== undefined && { state: next }) }),
    });
  const find = (text: string): void =>
    void navigate({
      search: ({ agent: _agent, ...rest }) => ({ ...rest, ...(text !== '' && { agent: text }) }),
      replace: true,
    });
  return (
    <div className="chips">
      {[undefined, ...STATES].map((one) => (
        <button
          key={one ?? 'all'}
          className="chip"
          type="button"
          aria-pressed={one === state}
          onClick={() => choose(one)}
        >
          {one ?? 'all'}
        </button>
      ))}
      <span className="space" />
      <input
        className="field"
        type="search"
        aria-label="Only runs of this agent"
        placeholder="Name of an agent"
        defaultValue={agent ?? ''}
        onChange={({ target }) => find(target.value.trim())}
      />
    </div>
  );
}

function RunTable({ runs }: { runs: readonly RunSummary[] }): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Runs">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">State</th>
            <th scope="col" className="secondary">
              Input
            </th>
            <th scope="col" className="number secondary">
              Tokens
            </th>
            <th scope="col" className="number">
              Cost
            </th>
            <th scope="col" className="number secondary">
              Took
            </th>
            <th scope="col" className="number">
              Age
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <td title={run.id}>
                <Link to="/runs/$runId" params={{ runId: run.id }}>
                  {plain(run.agentId)}
                </Link>
                {run.definition && <small className="secondary">rev {run.definition.revision}</small>}
              </td>
              <td>
                <Tag tone={runTone(run.state)}>{stateText(run)}</Tag>
              </td>
              <td className="secondary muted">{plain(run.inputPreview.text)}</td>
              <td className="number secondary">{count(tokensOf(run))}</td>
              <td className="number">{run.usage.costMicroUsd === undefined ? '–' : money(run.usage.costMicroUsd)}</td>
              <td className="number secondary">
                <Took run={run} />
              </td>
              <td className="number">
                <Ago at={run.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function stateText({ state, waitingFor }: Pick<RunSummary, 'state' | 'waitingFor'>): string {
  return waitingFor === null ? state : `waits for ${words(waitingFor)}`;
}

export function tokensOf({ usage }: Pick<RunSummary, 'usage'>): number {
  return (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) + (usage.estimatedTokens ?? 0);
}

export function Took({ run }: { run: Pick<RunSummary, 'startedAt' | 'finishedAt'> }): ReactNode {
  const now = useNow();
  if (run.startedAt === null) return <>–</>;
  const end = run.finishedAt === null ? now : Date.parse(run.finishedAt);
  return <>{spanText(Math.max(0, end - Date.parse(run.startedAt)))}</>;
}
