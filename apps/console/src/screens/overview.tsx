import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import type { BudgetView, SummaryView, UsageView } from '#rollcall/client';
import { Link } from '@tanstack/react-router';
import { useLive } from '../live/live.js';
import { clock, count, spanText, money } from '../parts/format.js';
import { Ago, Stat, useTitle } from '../parts/parts.js';
import { Empty, Loaded } from '../parts/states.js';
import { useCaller } from '../session/session.js';
import { eventSubject, eventText } from './event-text.js';
import { AgentTable } from './agent-table.js';
import { NeedsYou, useLowBudgets } from './needs-you.js';

const Chart = lazy(async () => await import('../parts/chart.js'));

/** What needs a person first, in words; then numbers, then charts. */
export function Overview(): ReactNode {
  useTitle('Overview');
  const { api } = useCaller();
  const summary = useQuery({
    queryKey: ['summary'],
    queryFn: async ({ signal }) => await api.registry.summary({ signal }),
  });
  return (
    <>
      <NeedsYou />
      <Loaded query={summary}>{(data) => <Counts summary={data} />}</Loaded>
      <div className="grid wide-narrow">
        <CostToday />
        <JustHappened />
      </div>
      <FirstAgents />
    </>
  );
}

function Counts({ summary: { agents, runs, circuits } }: { summary: SummaryView }): ReactNode {
  const usage = useUsageToday();
  const limit = useDailyLimit();
  const spent = usage.data?.total.microUsd ?? 0;
  const share = limit === undefined ? undefined : spent / limit;
  const others = [
    agents.suspect > 0 && `${count(agents.suspect)} suspect`,
    agents.draining > 0 && `${count(agents.draining)} draining`,
    agents.quarantined > 0 && `${count(agents.quarantined)} quarantined`,
    circuits.open > 0 && `${count(circuits.open)} with an open circuit`,
  ].filter((text) => text !== false);
  return (
    <div className="grid four">
      <Stat
        label="Agents"
        value={count(agents.total)}
        detail={[`${count(agents.active)} active`, ...others].join(' · ')}
      />
      {runs && (
        <>
          <Stat
            label="Runs now"
            value={count(runs.running)}
            detail={`${count(runs.queued)} queued · ${count(runs.waiting)} waiting`}
          />
          <Finished runs={runs} />
        </>
      )}
      <Stat
        label="Spent today"
        value={money(spent)}
        detail={
          share === undefined
            ? `${count(usage.data?.total.tokens ?? 0)} tokens`
            : `${Math.round(share * 100)} % of the limit`
        }
        {...(share !== undefined && share > 0.8 && { tone: 'bad' as const })}
      />
    </div>
  );
}

function Finished({ runs }: { runs: NonNullable<SummaryView['runs']> }): ReactNode {
  const { completed, notCompleted, medianMs } = runs;
  const all = completed + notCompleted;
  const share = all === 0 ? undefined : (completed / all) * 100;
  const details = [
    share !== undefined && `${share.toFixed(share === 100 ? 0 : 1)} % of ${count(all)}`,
    medianMs !== null && `median ${spanText(medianMs)}`,
  ].filter((text) => text !== false);
  return (
    <Stat
      label="Completed, last hour"
      value={count(completed)}
      detail={details.length > 0 ? details.join(' · ') : 'no run has ended'}
      {...(share !== undefined && { tone: share >= 95 ? ('good' as const) : ('bad' as const) })}
    />
  );
}

function midnight(): string {
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  return today.toISOString();
}

function useUsageToday() {
  const { api } = useCaller();
  return useQuery({
    queryKey: ['usage', 'today'],
    queryFn: async ({ signal }) => await api.usage.get({ by: 'agent', from: midnight(), step: '1m' }, { signal }),
  });
}

/** The limit in money of the daily budget of the namespace, if it has one. */
function useDailyLimit(): number | undefined {
  const { budgets } = useLowBudgets();
  const daily = budgets.find(({ kind, window }: BudgetView) => kind === 'namespace' && window === 'daily');
  return daily?.limit.microUsd ?? undefined;
}

function CostToday(): ReactNode {
  const usage = useUsageToday();
  const { namespace } = useCaller();
  return (
    <section className="card">
      <header>
        <h2>Cost today</h2>
        <small>{namespace}, since midnight</small>
      </header>
      <Loaded query={usage}>
        {(data) =>
          data.total.tokens === 0 && data.total.microUsd === 0 ? (
            <Empty>
              Nothing was charged today. <code>POST /v1/runs</code> starts a run; agents report what they use with their
              heartbeats.
            </Empty>
          ) : (
            <CostChart usage={data} />
          )
        }
      </Loaded>
    </section>
  );
}

/** The sum since midnight, at each time at which something was charged, and now. */
function cumulated(
  { series, from, to }: UsageView,
  unit: 'microUsd' | 'tokens',
): { times: number[]; values: number[] } {
  const sums = new Map<number, number>([[Date.parse(from), 0]]);
  for (const { points } of series)
    for (const point of points) {
      const at = Date.parse(point.at) + 60_000;
      sums.set(at, (sums.get(at) ?? 0) + point[unit]);
    }
  const end = Math.max(Date.parse(to), ...sums.keys());
  if (!sums.has(end)) sums.set(end, 0);
  const ordered = [...sums].toSorted(([one], [other]) => one - other);
  let sum = 0;
  return { times: ordered.map(([at]) => at / 1_000), values: ordered.map(([, amount]) => (sum += amount)) };
}

function CostChart({ usage }: { usage: UsageView }): ReactNode {
  const limit = useDailyLimit();
  const unit = usage.total.microUsd > 0 ? 'microUsd' : 'tokens';
  const data = useMemo(() => cumulated(usage, unit), [usage, unit]);
  const format = unit === 'microUsd' ? money : count;
  return (
    <div className="chart">
      <Suspense fallback={<p className="muted">Loading…</p>}>
        <Chart
          label={`Charged since midnight until ${clock(usage.to)}: ${format(usage.total[unit])}`}
          {...data}
          limit={unit === 'microUsd' ? limit : undefined}
          format={format}
        />
      </Suspense>
    </div>
  );
}

function FirstAgents(): ReactNode {
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['agents', 'first'],
    queryFn: async ({ signal }) => (await api.agents.list({ limit: FIRST }, { signal }).page()).items,
  });
  return (
    <section className="card">
      <header>
        <h2>Fleet</h2>
        <Link to="/fleet" className="action-link">
          all agents
        </Link>
      </header>
      <Loaded query={query}>
        {(agents) =>
          agents.length === 0 ? (
            <Empty>
              No agent is registered in this namespace. <code>POST /v1/agents</code> registers one.
            </Empty>
          ) : (
            <AgentTable agents={agents} />
          )
        }
      </Loaded>
    </section>
  );
}

const FIRST = 5;
const SHOWN = 6;

function JustHappened(): ReactNode {
  const { api, may } = useCaller();
  const live = useLive();
  const query = useQuery({
    queryKey: ['events', 'latest'],
    enabled: may('events:read'),
    queryFn: async ({ signal }) => (await api.events.page({ before: 'latest', limit: SHOWN }, { signal })).items,
  });
  if (!may('events:read')) return null;
  return (
    <section className="card">
      <header>
        <h2>Just happened</h2>
        {live.state === 'paused' && <small>held back: {count(live.held)}</small>}
      </header>
      <Loaded query={query}>
        {(events) =>
          events.length === 0 ? (
            <Empty>
              Nothing has happened yet. <code>POST /v1/agents</code> registers an agent.
            </Empty>
          ) : (
            <table>
              <thead className="visually-hidden">
                <tr>
                  <th scope="col">Age</th>
                  <th scope="col">Event</th>
                </tr>
              </thead>
              <tbody>
                {events.map((event) => (
                  <tr key={event.id}>
                    <td>
                      <Ago at={event.time} />
                    </td>
                    <td>
                      {eventText(event)}
                      <small>{eventSubject(event)}</small>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </section>
  );
}
