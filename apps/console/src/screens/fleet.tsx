import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import type { AgentView, SummaryView } from '#rollcall/client';
import { Action } from '../parts/action.js';
import { count, plain } from '../parts/format.js';
import { useTitle } from '../parts/parts.js';
import { Empty, Loaded } from '../parts/states.js';
import { useCaller } from '../session/session.js';
import { AgentTable, type Selection } from './agent-table.js';

interface Filter {
  status?: string;
  circuit?: string;
}

const PAGE = 100;

interface Chip extends Filter {
  label: string;
  of: (summary: SummaryView) => number;
}

/** Counts that filter. */
const CHIPS: readonly Chip[] = [
  { label: 'all', of: ({ agents }) => agents.total },
  { label: 'active', status: 'active', of: ({ agents }) => agents.active },
  { label: 'suspect', status: 'suspect', of: ({ agents }) => agents.suspect },
  { label: 'circuit open', circuit: 'open', of: ({ circuits }) => circuits.open },
  { label: 'draining', status: 'draining', of: ({ agents }) => agents.draining },
  { label: 'quarantined', status: 'quarantined', of: ({ agents }) => agents.quarantined },
];

/** All agents of the namespace, with their load, budget, circuit and the age of their heartbeat. */
export function Fleet(): ReactNode {
  useTitle('Fleet');
  const { api, may } = useCaller();
  const { status, circuit, q } = useSearch({ from: '/fleet' });
  const filter = { status: status as AgentView['status'], circuit: circuit as 'open', q };
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const list = useInfiniteQuery({
    queryKey: ['agents', 'list', given],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.agents.list({ ...given, limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const agents = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const ids = useMemo(() => new Set((agents ?? []).map(({ agentId }) => agentId)), [agents]);
  const chosen = useMemo(() => selected.intersection(ids), [selected, ids]);
  const selection: Selection = {
    ids: chosen,
    toggle: (id) => setSelected(chosen.symmetricDifference(new Set([id]))),
    toggleAll: () => setSelected(chosen.size === ids.size ? new Set() : ids),
  };
  return (
    <section className="card">
      <Filters status={status} circuit={circuit} q={q} />
      {may('agents:operate') && chosen.size > 0 && <Bulk ids={[...chosen]} onDone={() => setSelected(new Set())} />}
      <Loaded query={{ data: agents, error: list.error }}>
        {(rows) =>
          rows.length === 0 ? (
            <None isFiltered={Object.keys(given).length > 0} />
          ) : (
            <AgentTable
              agents={rows}
              selection={may('agents:operate') ? selection : undefined}
              onEnd={() => {
                if (list.hasNextPage && !list.isFetchingNextPage) void list.fetchNextPage();
              }}
            />
          )
        }
      </Loaded>
    </section>
  );
}

function None({ isFiltered }: { isFiltered: boolean }): ReactNode {
  if (isFiltered) return <Empty>No agent matches. Choose “all” or another text.</Empty>;
  return (
    <Empty>
      No agent is registered in this namespace. <code>POST /v1/agents</code> registers one,{' '}
      <code>POST /v1/runtime/agents</code> starts one from a definition.
    </Empty>
  );
}

function Filters({ status, circuit, q }: Record<'status' | 'circuit' | 'q', string | undefined>): ReactNode {
  const { api } = useCaller();
  const navigate = useNavigate({ from: '/fleet' });
  const { data: summary } = useQuery({
    queryKey: ['summary'],
    queryFn: async ({ signal }) => await api.registry.summary({ signal }),
  });
  const choose = (filter: Filter): void =>
    void navigate({ search: ({ ns, q: text }) => ({ ...(ns && { ns }), ...(text && { q: text }), ...filter }) });
  const find = (text: string): void =>
    void navigate({ search: ({ q: _q, ...rest }) => ({ ...rest, ...(text !== '' && { q: text }) }), replace: true });
  return (
    <div className="chips">
      {CHIPS.map(({ label, of, ...filter }) => (
        <button
          key={label}
          className="chip"
          type="button"
          aria-pressed={filter.status === status && filter.circuit === circuit}
          onClick={() => choose(filter)}
        >
          {label}
          {summary && <b>{count(of(summary))}</b>}
        </button>
      ))}
      <span className="space" />
      <input
        className="field"
        type="search"
        aria-label="Find agents by name or agentId"
        placeholder="Find agents"
        defaultValue={q ?? ''}
        onChange={({ target }) => find(target.value.trim())}
      />
    </div>
  );
}

const AT_ONCE = 5;

/** Sends one request for each agent, a few at the same time. */
async function forEach(ids: readonly string[], send: (id: string, index: number) => Promise<unknown>): Promise<void> {
  const waiting = [...ids.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await send(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function Bulk({ ids, onDone }: { ids: readonly string[]; onDone: () => void }): ReactNode {
  const { api } = useCaller();
  const number = `${count(ids.length)} ${ids.length === 1 ? 'agent' : 'agents'}`;
  const names = plain(ids.slice(0, 5).join(', ')) + (ids.length > 5 ? `, and ${count(ids.length - 5)} more` : '');
  const [first = ''] = ids;
  const bodyOf = (note: string): { note?: string } => (note === '' ? {} : { note });
  return (
    <div className="chips" role="group" aria-label="Selected agents">
      <span>{number} selected</span>
      <Action
        label="Drain…"
        title={`Drain ${number}?`}
        verb={`Drain ${number}`}
        request={(note) => ({
          method: 'POST',
          path: `/v1/agents/${encodeURIComponent(first)}/drain`,
          body: bodyOf(note),
        })}
        run={async (note, key) => {
          await forEach(
            ids,
            async (id, index) => await api.agents.drain(id, bodyOf(note), { idempotencyKey: `${key}-${index}` }),
          );
          onDone();
        }}
      >
        <p>{names}</p>
        <p>They get no new work and complete what they have. “Resume” undoes it.</p>
      </Action>
      <Action
        label="Quarantine…"
        tone="danger"
        title={`Quarantine ${number}?`}
        verb={`Quarantine ${number}`}
        request={(note) => ({
          method: 'POST',
          path: `/v1/agents/${encodeURIComponent(first)}/quarantine`,
          body: bodyOf(note),
        })}
        run={async (note, key) => {
          await forEach(
            ids,
            async (id, index) => await api.agents.quarantine(id, bodyOf(note), { idempotencyKey: `${key}-${index}` }),
          );
          onDone();
        }}
      >
        <p>{names}</p>
        <p>They get no work until somebody resumes them, also after they register again. “Resume” undoes it.</p>
      </Action>
    </div>
  );
}
