import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import type { BudgetView, ForecastView, LedgerEntryView } from '#rollcall/client';
import { clock, count, moment, money, plain, spanText } from '../../parts/format.js';
import { Ago, Fact, Stat, Tag, useNow, useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import {
  amounts,
  amountText,
  bindingUnit,
  CONDITIONS,
  entryText,
  subjectText,
  type BudgetUnit,
  BUDGET_UNITS,
  windowText,
} from './budget-words.js';
import { burnDownOf } from './burn-down.js';
import { Adjust, TopUp } from './changes.js';
import { SpentBar } from './spent-bar.js';

const Chart = lazy(async () => await import('../../parts/chart.js'));

const READ_EVERY_MS = 5_000;
const PAGE = 200;
const HOURS = 24;
const DAY_MS = 86_400_000;

/** One budget: what is left, when it runs out, and what changed it. */
export function Budget(): ReactNode {
  const { budgetId } = useParams({ from: '/budgets/$budgetId' });
  const { api } = useCaller();
  const budget = useQuery({
    queryKey: ['budgets', 'one', budgetId],
    queryFn: async ({ signal }) => await api.budgets.get(budgetId, { signal }),
    refetchInterval: READ_EVERY_MS,
  });
  const forecast = useQuery({
    queryKey: ['budgets', 'forecast', budgetId],
    queryFn: async ({ signal }) => await api.budgets.forecast(budgetId, { hours: HOURS }, { signal }),
    refetchInterval: READ_EVERY_MS,
  });
  const ledger = useInfiniteQuery({
    queryKey: ['budgets', 'ledger', budgetId],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.budgets
        .listLedger(budgetId, { limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal })
        .page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 2 ? false : READ_EVERY_MS),
  });
  const entries = useMemo(() => ledger.data?.pages.flatMap(({ items }) => items), [ledger.data]);
  useTitle(budget.data ? `Budget of ${subjectText(budget.data)}` : 'Budget');
  return (
    <Loaded query={budget}>
      {(data) => (
        <>
          <Operations budget={data} />
          <Numbers budget={data} forecast={forecast.data} />
          <div className="grid wide-narrow">
            <BurnDown budget={data} forecast={forecast.data} entries={entries} />
            <Facts budget={data} />
          </div>
          <section className="card">
            <header>
              <h2>Ledger</h2>
              <small>newest first</small>
            </header>
            <Loaded query={{ data: entries, error: ledger.error }}>{(items) => <Ledger entries={items} />}</Loaded>
            {ledger.hasNextPage && (
              <div className="padded">
                <div className="buttons">
                  <button
                    className="button"
                    type="button"
                    disabled={ledger.isFetchingNextPage}
                    onClick={() => void ledger.fetchNextPage()}
                  >
                    Show older entries
                  </button>
                </div>
              </div>
            )}
          </section>
        </>
      )}
    </Loaded>
  );
}

function Operations({ budget }: { budget: BudgetView }): ReactNode {
  const { may } = useCaller();
  return (
    <div className="buttons">
      <Link to="/budgets" className="text-link muted">
        ← Budgets
      </Link>
      <span className="space" />
      {may('budgets:write') && (
        <>
          <TopUp budget={budget} />
          <Adjust budget={budget} />
        </>
      )}
    </div>
  );
}

function Numbers({ budget, forecast }: { budget: BudgetView; forecast: ForecastView | undefined }): ReactNode {
  const now = useNow();
  const unit = bindingUnit(budget);
  const { word, tone } = CONDITIONS[budget.condition];
  const left = budget.available[unit];
  const limits = amounts(budget.limit);
  const other = BUDGET_UNITS.filter((one) => one !== unit && budget.usage.subtree[one] > 0);
  const others = (of: { tokens: number; microUsd: number }): string =>
    other.map((one) => amountText(one, of[one])).join(', ');
  const own = budget.usage.own[unit];
  const delegated = budget.usage.subtree[unit] - own;
  return (
    <div className="grid four">
      <Stat
        label="Left"
        value={left === null ? 'unlimited' : amountText(unit, left)}
        detail={
          left === null ? (
            'it only counts'
          ) : (
            <>
              <Tag tone={tone}>{word}</Tag> of {limits} {windowText(budget)}
            </>
          )
        }
      />
      <Stat
        label="Used"
        value={amountText(unit, budget.usage.subtree[unit])}
        detail={
          budget.kind === 'run'
            ? `own ${amountText(unit, own)} · delegated ${amountText(unit, delegated)}`
            : others(budget.usage.subtree) || `since ${moment(budget.windowStart)}`
        }
      />
      <Stat
        label="Held"
        value={amountText(unit, budget.reserved[unit])}
        detail={others(budget.reserved) || 'reserved by calls in progress'}
      />
      <RunsOut forecast={forecast} unit={unit} isLimited={left !== null} now={now} />
    </div>
  );
}

interface RunsOutProps {
  forecast: ForecastView | undefined;
  unit: BudgetUnit;
  isLimited: boolean;
  now: number;
}

function RunsOut({ forecast, unit, isLimited, now }: RunsOutProps): ReactNode {
  const rate =
    forecast && `${amountText(unit, forecast[unit].perHour)} an hour, of the last ${spanText(forecast.overMs)}`;
  const at = forecast?.runsOutAt ?? null;
  if (at === null)
    return <Stat label="Runs out" value={isLimited ? 'not in sight' : 'never'} detail={rate ?? 'no rate is known'} />;
  const inMs = Date.parse(at) - now;
  return (
    <Stat
      label="Runs out"
      value={inMs <= 0 ? 'now' : `in ${spanText(inMs)}`}
      detail={`${inMs < DAY_MS ? clock(at) : moment(at)}, at ${rate ?? 'an unknown rate'}`}
      tone="bad"
    />
  );
}

interface BurnDownProps {
  budget: BudgetView;
  forecast: ForecastView | undefined;
  entries: readonly LedgerEntryView[] | undefined;
}

/** What is left over time, with the forecast. */
function BurnDown({ budget, forecast, entries }: BurnDownProps): ReactNode {
  const [chosen, setChosen] = useState<BudgetUnit>();
  const unit = chosen ?? bindingUnit(budget);
  const data = useMemo(
    () => entries && burnDownOf(budget, entries, unit, forecast?.[unit], Date.now()),
    [budget, entries, unit, forecast],
  );
  const isLimited = budget.limit[unit] !== null;
  const units = BUDGET_UNITS.filter((one) => budget.limit[one] !== null || budget.usage.subtree[one] > 0);
  const runsOutAt = forecast?.[unit].runsOutAt ?? null;
  return (
    <section className="card">
      <header>
        <h2>{isLimited ? 'Left over time' : 'Used over time'}</h2>
        <small>
          {runsOutAt === null ? windowText(budget) : `exhausted ${moment(runsOutAt)}, at the rate of the last day`}
        </small>
        <span className="space" />
        {units.length > 1 && (
          <span className="segments" role="group" aria-label="Unit">
            {units.map((one) => (
              <button key={one} type="button" aria-pressed={one === unit} onClick={() => setChosen(one)}>
                {one === 'tokens' ? 'Tokens' : 'Money'}
              </button>
            ))}
          </span>
        )}
      </header>
      <div className="chart">
        {data && data.times.length > 1 ? (
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <Chart
              label={`${isLimited ? 'Left' : 'Used'} of ${subjectText(budget)}: ${amountText(unit, data.values.at(-1) ?? 0)} now`}
              times={data.times}
              values={data.values}
              forecast={data.forecast}
              limit={budget.limit[unit] ?? undefined}
              format={unit === 'microUsd' ? money : count}
            />
          </Suspense>
        ) : (
          data && <p className="muted">Nothing was charged yet.</p>
        )}
      </div>
    </section>
  );
}

function Facts({ budget }: { budget: BudgetView }): ReactNode {
  const { kind, subject, windowStart, windowEnd, timeZone, source, freshness, createdAt, low, path, id } = budget;
  return (
    <section className="card">
      <h2>About</h2>
      <dl className="facts">
        <Fact term="Limits">
          {kind} <Subject kind={kind} subject={subject} />
        </Fact>
        {path.length > 0 && (
          <Fact term="Below">
            {path.map((above) => (
              <Link key={above} to="/budgets/$budgetId" params={{ budgetId: above }} className="text-link">
                budget {above}{' '}
              </Link>
            ))}
          </Fact>
        )}
        <Fact term="Spent">
          <SpentBar budget={budget} />
        </Fact>
        <Fact term="Window">
          {windowText(budget)}, {timeZone}
        </Fact>
        <Fact term="Began">{moment(windowStart)}</Fact>
        <Fact term="Starts again">{windowEnd === null ? 'never' : moment(windowEnd)}</Fact>
        <Fact term="Low below">
          {low.tokens === null && low.microUsd === null ? 'as the settings say' : amounts(low)}
        </Fact>
        <Fact term="Counted by">
          {source === 'ledger' ? 'settled reservations' : plain(source)}
          {freshness && (freshness.stale ? `, stale: ${plain(freshness.error ?? 'not read')}` : ', up to date')}
        </Fact>
        <Fact term="Opened">
          <Ago at={createdAt} /> ago, id {id}
        </Fact>
      </dl>
    </section>
  );
}

function Subject({ kind, subject }: Pick<BudgetView, 'kind' | 'subject'>): ReactNode {
  const name = plain(subject);
  if (kind === 'agent')
    return (
      <Link to="/agents/$agentId" params={{ agentId: subject }} className="text-link">
        {name}
      </Link>
    );
  if (kind === 'run')
    return (
      <Link to="/runs/$runId" params={{ runId: subject }} className="text-link">
        {name}
      </Link>
    );
  return name;
}

function Ledger({ entries }: { entries: readonly LedgerEntryView[] }): ReactNode {
  if (entries.length === 0) return <Empty>Nothing has changed this budget.</Empty>;
  return (
    <div className="scroll ledger" tabIndex={0} role="region" aria-label="Ledger">
      <table>
        <thead>
          <tr>
            <th scope="col">Age</th>
            <th scope="col">What</th>
            <th scope="col" className="number">
              Tokens
            </th>
            <th scope="col" className="number">
              Money
            </th>
            <th scope="col" className="secondary">
              New limit
            </th>
            <th scope="col" className="secondary">
              By
            </th>
            <th scope="col" className="secondary">
              For
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Entry key={entry.seq} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Entry({ entry }: { entry: LedgerEntryView }): ReactNode {
  const { at, kind, tokens, microUsd, limit, by, note, reservation, marks } = entry;
  return (
    <tr>
      <td>
        <Ago at={at} />
      </td>
      <td>
        {kind === 'charged' ? entryText(entry) : <Tag tone="info">{entryText(entry)}</Tag>}{' '}
        {marks.map((mark) => (
          <Tag key={mark} tone="warn">
            {mark}
          </Tag>
        ))}
      </td>
      <td className="number">{tokens === 0 ? '–' : count(tokens)}</td>
      <td className="number">{microUsd === 0 ? '–' : money(microUsd)}</td>
      <td className="secondary muted">{limit === null ? '' : amounts(limit)}</td>
      <td className="secondary muted">{plain(by ?? '')}</td>
      <td className="secondary muted" title={plain(note ?? reservation ?? '')}>
        {plain(note ?? reservation ?? '')}
      </td>
    </tr>
  );
}
