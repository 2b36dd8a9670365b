import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useCallback, useMemo } from 'react';
import { useLive } from '../../live/live.js';
import { count } from '../../parts/format.js';
import { useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { EventList } from './event-list.js';
import { HistoryTabs } from './history-tabs.js';
import { TimeSlider } from './time-slider.js';

const PAGE = 50;
/** The server searches a part of the log for each request. */
const PARTS = 10;

const KINDS: readonly { label: string; kind?: string; types?: string[] }[] = [
  { label: 'all' },
  { label: 'agents', kind: 'agent', types: ['agent.*'] },
  { label: 'circuits', kind: 'circuit', types: ['circuit.*'] },
  { label: 'budgets', kind: 'budget', types: ['budget.*'] },
  { label: 'runs', kind: 'run', types: ['run.*'] },
  { label: 'contracts', kind: 'contract', types: ['contract.*'] },
  { label: 'definitions', kind: 'definition', types: ['definition.*'] },
  { label: 'registry', kind: 'registry', types: ['registry.*', 'protection.*', 'event.*'] },
];

/** The events of the namespace, back to the oldest that is kept. */
export function History(): ReactNode {
  useTitle('History');
  const { api, may } = useCaller();
  const live = useLive();
  const navigate = useNavigate({ from: '/history' });
  const { kind, agent, before } = useSearch({ from: '/history' });
  const types = KINDS.find((one) => one.kind === kind)?.types;
  const filter = { ...(types && { types }), ...(agent !== undefined && { agentIds: [agent] }) };
  const list = useInfiniteQuery({
    queryKey: ['events', 'history', filter, before],
    enabled: may('events:read'),
    initialPageParam: before === undefined ? 'latest' : String(before),
    queryFn: async ({ pageParam, signal }) => {
      let page = await api.events.page({ ...filter, before: pageParam, limit: PAGE }, { signal });
      for (let part = 1; part < PARTS && page.items.length === 0 && !isStart(page.next); part += 1)
        page = await api.events.page({ ...filter, before: page.next, limit: PAGE }, { signal });
      return page;
    },
    getNextPageParam: ({ next }) => (isStart(next) ? undefined : next),
  });
  const events = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const goTo = useCallback(
    (position: number | undefined) =>
      void navigate({
        search: ({ before: _before, ...rest }) => ({ ...rest, ...(position !== undefined && { before: position }) }),
        replace: true,
      }),
    [navigate],
  );
  return (
    <>
      <HistoryTabs />
      <section className="card">
        <Filters kind={kind} agent={agent} />
        <TimeSlider until={before === undefined ? undefined : events?.[0]?.time} onChange={goTo} />
        {live.state === 'paused' && <p className="notice">Paused: {count(live.held)} events are held back.</p>}
        <Loaded query={{ data: events, error: list.error }}>
          {(all) =>
            all.length === 0 ? (
              <Empty>
                {Object.keys(filter).length > 0
                  ? list.hasNextPage
                    ? 'No event matches in this part of the log.'
                    : 'No event matches. Choose “all” or another agent.'
                  : 'Nothing has happened yet. POST /v1/agents registers an agent.'}
              </Empty>
            ) : (
              <EventList events={all} />
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
                Show earlier events
              </button>
            </div>
          </div>
        )}
      </section>
    </>
  );
}

/** With `before`, the sequence 0 means that there are no earlier events. */
function isStart(next: string): boolean {
  return next.split('-', 1)[0] === '0';
}

function Filters({ kind, agent }: Record<'kind' | 'agent', string | undefined>): ReactNode {
  const navigate = useNavigate({ from: '/history' });
  const choose = (next: string | undefined): void =>
    void navigate({ search: ({ kind: _kind, ...rest }) => ({ ...rest, ...(next !== undefined && { kind: next }) }) });
  const find = (name: string): void =>
    void navigate({
      search: ({ agent: _agent, ...rest }) => ({ ...rest, ...(name !== '' && { agent: name }) }),
      replace: true,
    });
  return (
    <div className="chips">
      {KINDS.map((one) => (
        <button
          key={one.label}
          className="chip"
          type="button"
          aria-pressed={one.kind === kind}
          onClick={() => choose(one.kind)}
        >
          {one.label}
        </button>
      ))}
      <span className="space" />
      <input
        className="field"
        type="search"
        aria-label="Only events about this agent"
        placeholder="agentId"
        defaultValue={agent ?? ''}
        onChange={({ target }) => find(target.value.trim())}
      />
    </div>
  );
}
