import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { BudgetView, ReconciliationView } from '#rollcall/client';
import { count, words } from '../../parts/format.js';
import { Tag, useTitle } from '../../parts/parts.js';
import { Empty, Loaded, Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { amounts, bindingText, CONDITIONS, subjectText, windowText } from './budget-words.js';
import { SpentBar } from './spent-bar.js';

type Kind = BudgetView['kind'];

const PAGE = 50;
/** Charges have no events, so what is on the screen is read again. */
const READ_EVERY_MS = 5_000;
const COLUMNS = 6;

interface Branch {
  kind: Kind;
  title: string;
  /** Its place in the tree. */
  depth: number;
  isOpen: boolean;
}

/** A call is charged to all of these budgets at once: from the whole fleet down to its run. */
const BRANCHES: readonly Branch[] = [
  { kind: 'fleet', title: 'Fleet', depth: 0, isOpen: true },
  { kind: 'namespace', title: 'Namespace', depth: 1, isOpen: true },
  { kind: 'caller', title: 'Callers', depth: 2, isOpen: true },
  { kind: 'agent', title: 'Agents', depth: 2, isOpen: true },
  { kind: 'run', title: 'Runs', depth: 2, isOpen: false },
];

/** What everybody may spend, has spent and holds, as a tree. */
export function Budgets(): ReactNode {
  useTitle('Budgets');
  const { me } = useCaller();
  const { subject } = useSearch({ from: '/budgets' });
  const isEverywhere = me.namespaces.includes('*');
  const branches = BRANCHES.filter(({ kind }) => kind !== 'fleet' || isEverywhere);
  return (
    <>
      <section className="card">
        <Finder subject={subject} />
        <div className="scroll" tabIndex={0} role="region" aria-label="Budgets">
          <table className="tree">
            <thead>
              <tr>
                <th scope="col">Budget</th>
                <th scope="col" className="secondary">
                  Window
                </th>
                <th scope="col" className="secondary">
                  Used and <span className="held-word">held</span>
                </th>
                <th scope="col" className="number">
                  Left
                </th>
                <th scope="col" className="number secondary">
                  Limit
                </th>
                <th scope="col" className="secondary">
                  State
                </th>
              </tr>
            </thead>
            {subject === undefined ? (
              branches.map((branch) => <BranchRows key={branch.kind} branch={branch} />)
            ) : (
              <Found subject={subject} />
            )}
          </table>
        </div>
      </section>
      <Reconciliation />
    </>
  );
}

function Finder({ subject }: { subject: string | undefined }): ReactNode {
  const navigate = useNavigate({ from: '/budgets' });
  const find = (text: string): void =>
    void navigate({
      search: ({ subject: _subject, ...rest }) => ({ ...rest, ...(text !== '' && { subject: text }) }),
      replace: true,
    });
  return (
    <div className="chips">
      <span className="muted">A call is charged to its run, its agent, its caller, the namespace and the fleet.</span>
      <span className="space" />
      <input
        className="field"
        type="search"
        aria-label="Only budgets of this agent, caller or run"
        placeholder="agentId, caller or run"
        defaultValue={subject ?? ''}
        onChange={({ target }) => find(target.value.trim())}
      />
    </div>
  );
}

function useBudgets(filter: { kind?: Kind; subject?: string; under?: string }, isEnabled: boolean) {
  const { api } = useCaller();
  return useInfiniteQuery({
    queryKey: ['budgets', 'list', filter],
    enabled: isEnabled,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.budgets.list({ ...filter, limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 2 ? false : READ_EVERY_MS),
  });
}

/** The budgets of one kind. */
function BranchRows({ branch }: { branch: Branch }): ReactNode {
  const { kind, title, depth } = branch;
  const [isOpen, setOpen] = useState(branch.isOpen);
  const list = useBudgets({ kind }, isOpen);
  const all = list.data?.pages.flatMap(({ items }) => items);
  const budgets = kind === 'run' ? all?.filter(({ path }) => path.length === 0) : all;
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <tbody>
      <tr className="branch">
        <th scope="rowgroup" colSpan={COLUMNS} className={`depth-${depth}`}>
          <button type="button" className="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon size={14} aria-hidden="true" /> {title}
          </button>
        </th>
      </tr>
      {isOpen && list.error && (
        <tr>
          <td colSpan={COLUMNS}>
            <Problem error={list.error} />
          </td>
        </tr>
      )}
      {isOpen && budgets?.length === 0 && (
        <tr>
          <td colSpan={COLUMNS} className={`depth-${depth + 1} muted none`}>
            {NONE[kind]}
          </td>
        </tr>
      )}
      {isOpen && budgets?.map((budget) => <BudgetRow key={budget.id} budget={budget} depth={depth + 1} />)}
      {isOpen && list.hasNextPage && (
        <tr>
          <td colSpan={COLUMNS} className={`depth-${depth + 1}`}>
            <button
              type="button"
              className="button"
              disabled={list.isFetchingNextPage}
              onClick={() => void list.fetchNextPage()}
            >
              Show more
            </button>
          </td>
        </tr>
      )}
    </tbody>
  );
}

const NONE: Record<Kind, ReactNode> = {
  fleet: 'The fleet has no budget: only the budgets below limit it.',
  namespace: (
    <>
      No limit. <code>rollcall budgets open --kind namespace --window daily --usd 20</code> sets one.
    </>
  ),
  caller: (
    <>
      No caller is limited. <code>rollcall budgets open --kind caller --subject ID --tokens 100000</code> limits one.
    </>
  ),
  agent: (
    <>
      No agent has a budget. <code>POST /v1/agents</code> registers an agent, and opens one.
    </>
  ),
  run: (
    <>
      No run has a budget. <code>rollcall run … --budget-tokens 10000</code> starts one that has.
    </>
  ),
};

/** A budget; that of a run can be opened to show the runs below it. */
function BudgetRow({ budget, depth }: { budget: BudgetView; depth: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const isRun = budget.kind === 'run';
  const below = useBudgets({ kind: 'run', under: budget.id }, isOpen);
  const children = (below.data?.pages.flatMap(({ items }) => items) ?? []).filter(
    ({ path }) => path.at(-1) === budget.id,
  );
  const { word, tone } = CONDITIONS[budget.condition];
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const name = subjectText(budget);
  return (
    <>
      <tr>
        <td className={`depth-${Math.min(depth, 6)}`} title={name}>
          {isRun && (
            <button
              type="button"
              className="link-button"
              aria-expanded={isOpen}
              aria-label={`Runs below ${name}`}
              onClick={() => setOpen(!isOpen)}
            >
              <Icon size={14} aria-hidden="true" />
            </button>
          )}
          <Link to="/budgets/$budgetId" params={{ budgetId: budget.id }}>
            {name}
          </Link>
          {budget.condition !== 'ample' && (
            <span className="only-narrow">
              <Tag tone={tone}>{word}</Tag>
            </span>
          )}
        </td>
        <td className="secondary muted">{windowText(budget)}</td>
        <td className="secondary">
          <SpentBar budget={budget} />
        </td>
        <td className="number" title={amounts(budget.available)}>
          {bindingText(budget, budget.available)}
        </td>
        <td className="number secondary muted" title={amounts(budget.limit)}>
          {bindingText(budget, budget.limit)}
        </td>
        <td className="secondary">
          <Tag tone={tone}>{word}</Tag>
        </td>
      </tr>
      {isOpen && children.map((child) => <BudgetRow key={child.id} budget={child} depth={depth + 1} />)}
      {isOpen && below.data && children.length === 0 && (
        <tr>
          <td colSpan={COLUMNS} className={`depth-${Math.min(depth + 1, 6)} muted`}>
            It delegated to no run.
          </td>
        </tr>
      )}
    </>
  );
}

function Found({ subject }: { subject: string }): ReactNode {
  const list = useBudgets({ subject }, true);
  const budgets = list.data?.pages.flatMap(({ items }) => items);
  return (
    <tbody>
      {budgets?.map((budget) => (
        <BudgetRow key={budget.id} budget={budget} depth={0} />
      ))}
      {budgets?.length === 0 && (
        <tr>
          <td colSpan={COLUMNS} className="muted">
            Nothing with exactly this id has a budget.
          </td>
        </tr>
      )}
    </tbody>
  );
}

/** Proves on request that the counters equal the ledger. */
function Reconciliation(): ReactNode {
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['reconciliation'],
    enabled: false,
    queryFn: async ({ signal }) => await api.budgets.reconcile({ signal }),
  });
  return (
    <section className="card">
      <header>
        <h2>Reconciliation</h2>
        <small>are all counters equal to the sums of their ledgers?</small>
        <span className="space" />
        <button className="button" type="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
          {query.isFetching ? 'Comparing…' : 'Compare now'}
        </button>
      </header>
      {query.data === undefined && !query.error ? (
        <Empty>
          Reads all budgets that you can see, at one moment. <code>rollcall api GET /v1/budgets/reconciliation</code>
        </Empty>
      ) : (
        <Loaded query={query}>{(data) => <Compared result={data} />}</Loaded>
      )}
    </section>
  );
}

function Compared({ result: { checked, discrepancies } }: { result: ReconciliationView }): ReactNode {
  if (discrepancies.length === 0)
    return (
      <p className="notice" role="status">
        <Tag tone="good">equal</Tag> All counters of {count(checked)} {checked === 1 ? 'budget' : 'budgets'} equal their
        ledgers.
      </p>
    );
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Budget</th>
            <th scope="col">Number</th>
            <th scope="col" className="number">
              Counter
            </th>
            <th scope="col" className="number">
              Ledger
            </th>
          </tr>
        </thead>
        <tbody>
          {discrepancies.flatMap(({ id, counters, ledger }) =>
            Object.entries(counters)
              .filter(([name, value]) => ledger[name as keyof typeof ledger] !== value)
              .map(([name, value]) => (
                <tr key={`${id} ${name}`}>
                  <td>
                    <Link to="/budgets/$budgetId" params={{ budgetId: id }}>
                      {id}
                    </Link>
                  </td>
                  <td>{words(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`))}</td>
                  <td className="number">{value ?? 'unlimited'}</td>
                  <td className="number">{ledger[name as keyof typeof ledger] ?? 'unlimited'}</td>
                </tr>
              )),
          )}
        </tbody>
      </table>
    </div>
  );
}
