import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { ContractView } from '#rollcall/client';
import { count, plain } from '../../parts/format.js';
import { Ago, Tag, useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { answeredText, contractResult, contractState } from './contract-words.js';
import { Countdown } from './countdown.js';

const OPEN = ['announced', 'bidding', 'awarded'] as const;
const ENDED = ['confirmed', 'expired', 'cancelled'] as const;
const AT_ONCE = 100;
const PAGE = 30;

/** The auctions of the namespace: what is open, with its countdown, and what came of the others. */
export function Contracts(): ReactNode {
  useTitle('Contracts');
  const { api } = useCaller();
  const open = useQuery({
    queryKey: ['contracts', 'open'],
    queryFn: async ({ signal }) =>
      (await api.contracts.list({ state: [...OPEN], limit: AT_ONCE }, { signal }).page()).items,
  });
  const ended = useInfiniteQuery({
    queryKey: ['contracts', 'ended'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.contracts
        .list({ state: [...ENDED], limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal })
        .page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const rows = useMemo(() => ended.data?.pages.flatMap(({ items }) => items), [ended.data]);
  return (
    <>
      <Loaded query={open}>
        {(contracts) => <Board contracts={[...contracts, ...(rows ?? []).filter(isAtWork)]} />}
      </Loaded>
      <section className="card">
        <header>
          <h2>Ended</h2>
          <small>the newest first</small>
        </header>
        <Loaded query={{ data: rows?.filter((contract) => !isAtWork(contract)), error: ended.error }}>
          {(all) => (all.length === 0 ? <Empty>No contract has ended yet.</Empty> : <Ended contracts={all} />)}
        </Loaded>
        {ended.hasNextPage && (
          <div className="padded">
            <div className="buttons">
              <button
                className="button"
                type="button"
                disabled={ended.isFetchingNextPage}
                onClick={() => void ended.fetchNextPage()}
              >
                Show older contracts
              </button>
            </div>
          </div>
        )}
      </section>
    </>
  );
}

function isAtWork({ state, outcome }: ContractView): boolean {
  return state === 'confirmed' && outcome === null;
}

interface Lane {
  title: string;
  hint: string;
  none: string;
  has: (contract: ContractView) => boolean;
}

const LANES: readonly Lane[] = [
  {
    title: 'Open for bids',
    hint: 'sealed until the deadline',
    none: 'No auction is open.',
    has: ({ state }) => state === 'announced' || state === 'bidding',
  },
  {
    title: 'Awarded',
    hint: 'the winner has to confirm',
    none: 'No award waits for its winner.',
    has: ({ state }) => state === 'awarded',
  },
  { title: 'At work', hint: 'no outcome yet', none: 'No winner is at work.', has: isAtWork },
];

function Board({ contracts }: { contracts: readonly ContractView[] }): ReactNode {
  const { may } = useCaller();
  if (contracts.length === 0)
    return (
      <section className="card">
        <h2>Open contracts</h2>
        <Empty>
          No contract is open.{' '}
          {may('contracts:announce') ? (
            <>
              <code>POST /v1/contracts</code> with <code>{'{"capabilities": ["build"], "task": "Build main."}'}</code>{' '}
              asks all capable agents for a bid.
            </>
          ) : (
            'A caller announces one to ask all capable agents for a bid.'
          )}
        </Empty>
      </section>
    );
  return (
    <div className="grid three">
      {LANES.map(({ title, hint, none, has }) => {
        const inside = contracts.filter(has);
        return (
          <section className="card lane" key={title} aria-label={title}>
            <header>
              <h2>{title}</h2>
              <small>
                {count(inside.length)} · {hint}
              </small>
            </header>
            {inside.length === 0 && <Empty>{none}</Empty>}
            <ul className="plain-list">
              {inside.map((contract) => (
                <li key={contract.id}>
                  <ContractCard contract={contract} />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}

function ContractCard({ contract }: { contract: ContractView }): ReactNode {
  const { id, task, capabilities, state, announcedAt, deadline, confirmBy, winner, runId } = contract;
  return (
    <article className="contract">
      <Link to="/contracts/$contractId" params={{ contractId: id }} className="text-link contract-task">
        {plain(task.slice(0, 200))}
      </Link>
      <Capabilities names={capabilities} />
      {(state === 'announced' || state === 'bidding') && (
        <>
          <Countdown from={announcedAt} until={deadline} what="to bid" />
          <p className="muted">{answeredText(contract)}</p>
        </>
      )}
      {state === 'awarded' && (
        <>
          {confirmBy !== null && <Countdown from={deadline} until={confirmBy} what="to confirm" />}
          <p className="muted">{winner === null ? '' : plain(winner)}</p>
        </>
      )}
      {state === 'confirmed' && (
        <p className="muted">
          {winner === null ? '' : plain(winner)}
          {runId !== null && (
            <>
              {' · '}
              <Link to="/runs/$runId" params={{ runId }} className="text-link">
                its run
              </Link>
            </>
          )}
        </p>
      )}
    </article>
  );
}

export function Capabilities({ names }: { names: readonly string[] }): ReactNode {
  return (
    <span className="capabilities">
      {names.slice(0, 6).map((name) => (
        <span className="capability" key={name}>
          {plain(name)}
        </span>
      ))}
      {names.length > 6 && <span className="muted">+{count(names.length - 6)}</span>}
    </span>
  );
}

function Ended({ contracts }: { contracts: readonly ContractView[] }): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Ended contracts">
      <table>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col" className="secondary">
              Result
            </th>
            <th scope="col" className="number secondary">
              Answers
            </th>
            <th scope="col" className="number">
              Age
            </th>
          </tr>
        </thead>
        <tbody>
          {contracts.map((contract) => {
            const { word, tone } = contractState(contract);
            return (
              <tr key={contract.id}>
                <td title={contract.id}>
                  <Link to="/contracts/$contractId" params={{ contractId: contract.id }}>
                    {plain(contract.task.slice(0, 120))}
                  </Link>
                </td>
                <td>
                  <Tag tone={tone}>{word}</Tag>
                </td>
                <td className="secondary muted">{contractResult(contract)}</td>
                <td className="number secondary">
                  {count(contract.answered)} of {count(contract.invited)}
                </td>
                <td className="number">
                  <Ago at={contract.announcedAt} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
