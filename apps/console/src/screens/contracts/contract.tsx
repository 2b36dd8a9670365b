import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ContractDetailView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, money, plain, spanText } from '../../parts/format.js';
import { Ago, Fact, ForeignText, Meter, Stat, Tag, type Tone, useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import {
  answeredText,
  contractResult,
  contractState,
  hidesBids,
  mayBeCancelled,
  costText,
  score,
} from './contract-words.js';
import { Capabilities } from './contracts.js';
import { Countdown } from './countdown.js';
import { Transcript } from './transcript.js';

/** One auction: its task, its bids once they are open, and everything that happened. */
export function Contract(): ReactNode {
  const { contractId } = useParams({ from: '/contracts/$contractId' });
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['contract', contractId],
    queryFn: async ({ signal }) => await api.contracts.get(contractId, { signal }),
  });
  return (
    <Loaded query={query}>
      {(contract) => (
        <>
          <Titled task={contract.task} />
          <Operations contract={contract} />
          <Numbers contract={contract} />
          <div className="grid wide-narrow">
            <div className="grid">
              <Bids contract={contract} />
              <section className="card">
                <header>
                  <h2>Transcript</h2>
                  <small>in order</small>
                </header>
                <Transcript entries={contract.transcript} />
              </section>
            </div>
            <Terms contract={contract} />
          </div>
        </>
      )}
    </Loaded>
  );
}

function Titled({ task }: { task: string }): ReactNode {
  useTitle(plain(task.slice(0, 80)));
  return null;
}

function Operations({ contract }: { contract: ContractDetailView }): ReactNode {
  const { api, may, me } = useCaller();
  const { id } = contract;
  const mayChange = may('contracts:announce') && (may('agents:operate') || contract.announcedBy === me.owner);
  return (
    <div className="buttons">
      <Link to="/contracts" className="text-link muted">
        ← Contracts
      </Link>
      <span className="space" />
      {mayChange && mayBeCancelled(contract) && (
        <Action
          label="Cancel…"
          tone="danger"
          title="Cancel this contract?"
          verb="Cancel the contract"
          hasNote={false}
          request={() => ({ method: 'POST', path: `/v1/contracts/${id}/cancel` })}
          run={async (_note, idempotencyKey) => await api.contracts.cancel(id, { idempotencyKey })}
        >
          <p>
            The auction ends without a winner, and the agents that have bid are notified. What an award has reserved is
            released. This cannot be undone; the task can be announced again.
          </p>
        </Action>
      )}
    </div>
  );
}

function Numbers({ contract }: { contract: ContractDetailView }): ReactNode {
  const { state, announcedAt, announcedBy, deadline, confirmBy, winner, outcome, bids } = contract;
  const { word, tone } = contractState(contract);
  const award = bids.find(({ agentId }) => agentId === winner);
  return (
    <div className="grid four">
      <Stat
        label="State"
        value={<Tag tone={tone}>{word}</Tag>}
        detail={
          hidesBids(contract) ? (
            <Countdown from={announcedAt} until={deadline} what="to bid" />
          ) : state === 'awarded' && confirmBy !== null ? (
            <Countdown from={deadline} until={confirmBy} what="to confirm" />
          ) : (
            contractResult(contract)
          )
        }
      />
      <Stat
        label="Winner"
        value={winner === null ? '–' : plain(winner)}
        detail={
          award?.score === null || award?.score === undefined
            ? 'the best bid wins'
            : `score ${score(award.score)} of 1, rank ${count(award.rank ?? 0)}`
        }
      />
      <Stat
        label="Price"
        value={costText(outcome?.microUsd ?? award?.price ?? null)}
        detail={
          outcome?.microUsd === null || outcome === null
            ? 'as bid'
            : award?.price === null || award === undefined
              ? 'as reported'
              : `as reported; the bid was ${money(award.price)}`
        }
      />
      <Stat
        label="Answers"
        value={`${count(contract.answered)} of ${count(contract.invited)}`}
        detail={
          <>
            announced <Ago at={announcedAt} /> ago by {plain(announcedBy)}
          </>
        }
      />
    </div>
  );
}

const RESULTS: Record<NonNullable<ContractDetailView['bids'][number]['result']>, Tone> = {
  completed: 'good',
  failed: 'bad',
  lapsed: 'warn',
  declined: 'warn',
};

function Bids({ contract }: { contract: ContractDetailView }): ReactNode {
  const { bids, winner, invited } = contract;
  return (
    <section className="card">
      <header>
        <h2>Bids</h2>
        <small>{answeredText(contract)}</small>
      </header>
      {hidesBids(contract) ? (
        <p className="notice sealed">
          <Tag tone="info">sealed</Tag> Nobody can read the bids before the auction closes, so no agent can adjust its
          bid to that of another. It closes at the deadline, or when all {count(invited)} agents have answered.
        </p>
      ) : bids.length === 0 ? (
        <Empty>No agent was invited.</Empty>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Bids">
          <table>
            <thead>
              <tr>
                <th scope="col" className="number">
                  Rank
                </th>
                <th scope="col">Agent</th>
                <th scope="col" className="number">
                  Price
                </th>
                <th scope="col" className="number secondary">
                  Time
                </th>
                <th scope="col" className="number secondary">
                  Confidence
                </th>
                <th scope="col">Score</th>
                <th scope="col" className="secondary">
                  Result
                </th>
              </tr>
            </thead>
            <tbody>
              {bids.map((bid) => (
                <tr key={bid.agentId} className={bid.agentId === winner ? 'selected' : ''}>
                  <td className="number muted">{bid.rank === null ? '–' : count(bid.rank)}</td>
                  <td>
                    <Link to="/agents/$agentId" params={{ agentId: bid.agentId }}>
                      {plain(bid.agentId)}
                    </Link>
                    {bid.revision > 1 && <small className="secondary">answer {count(bid.revision)}</small>}
                    {bid.lateAnswers > 0 && <small className="secondary">{count(bid.lateAnswers)} late</small>}
                  </td>
                  <td className="number">{costText(bid.price)}</td>
                  <td className="number secondary">{bid.etaMs === null ? '–' : spanText(bid.etaMs)}</td>
                  <td className="number secondary">
                    {bid.confidence === null ? '–' : `${Math.round(bid.confidence * 100)} %`}
                  </td>
                  <td>
                    {bid.score === null ? (
                      <span className="muted">{bid.answer === null ? 'no answer' : bid.answer}</span>
                    ) : (
                      <Meter share={bid.score}>{score(bid.score)}</Meter>
                    )}
                  </td>
                  <td className="secondary">
                    {bid.result === null ? (
                      bid.agentId === winner ? (
                        <Tag tone="info">has the award</Tag>
                      ) : null
                    ) : (
                      <Tag tone={RESULTS[bid.result]}>{bid.result}</Tag>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Terms({ contract }: { contract: ContractDetailView }): ReactNode {
  const { task, capabilities, limits, reserve, scoring, weights, run, runId, id } = contract;
  const highest = [
    limits.price !== null && `at most ${money(limits.price)}`,
    limits.etaMs !== null && `at most ${spanText(limits.etaMs)}`,
  ].filter((text) => text !== false);
  const reserved = [
    reserve.tokens > 0 && `${count(reserve.tokens)} tokens`,
    reserve.microUsd === null ? 'the price of the bid' : money(reserve.microUsd),
  ].filter((text) => text !== false);
  return (
    <section className="card lane">
      <h2>Task</h2>
      <div className="padded">
        <ForeignText text={task} />
      </div>
      <dl className="facts">
        <Fact term="Needs">
          <Capabilities names={capabilities} />
        </Fact>
        <Fact term="Limits">{highest.length > 0 ? highest.join(', ') : 'none'}</Fact>
        <Fact term="Reserves">{reserved.join(' and ')}</Fact>
        <Fact term="Scored by">{plain(scoring)}</Fact>
        <Fact term="Weights">
          {Object.entries(weights)
            .map(([part, weight]) => `${part} ${weight}`)
            .join(' · ')}
        </Fact>
        <Fact term="Run">
          {runId === null ? (
            run ? (
              'starts when the winner has confirmed'
            ) : (
              'none; the winner reports the outcome'
            )
          ) : (
            <Link to="/runs/$runId" params={{ runId }} className="text-link">
              open the run
            </Link>
          )}
        </Fact>
        <Fact term="Id">
          <span className="mono">{id}</span>
        </Fact>
      </dl>
    </section>
  );
}
