import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ContractDetailView } from '#rollcall/client';
import { count, money, moment, plain, spanText, words } from '../../parts/format.js';
import { Ago, Json } from '../../parts/parts.js';
import { score } from './contract-words.js';

type Entry = ContractDetailView['transcript'][number];
type Facts = Readonly<Record<string, unknown>>;

interface ScoredBid {
  agentId: string;
  score: number;
  parts: Readonly<Record<string, number>>;
}

/** Everything that happened, in order and in sentences. The exact facts are in the details of each entry. */
export function Transcript({ entries }: { entries: readonly Entry[] }): ReactNode {
  return (
    <ol className="transcript">
      {entries.map((entry) => {
        const facts = entry.data as Facts;
        return (
          <li key={`${entry.at} ${entry.kind} ${textOf(facts['agentId'])}`}>
            <time dateTime={entry.at} title={moment(entry.at)}>
              <Ago at={entry.at} />
            </time>
            <div className="entry">
              <p>{SENTENCES[entry.kind](facts, <b>{plain(textOf(facts['agentId']))}</b>)}</p>
              {entry.kind === 'scored' && <Scores bids={(facts['bids'] ?? []) as ScoredBid[]} />}
              <details>
                <summary>Facts</summary>
                <Json value={entry.data} />
              </details>
            </div>
          </li>
        );
      })}
    </ol>
  );
}

/** The parts of each score. Each is from 0 to 1, before it is weighted. */
function Scores({ bids }: { bids: readonly ScoredBid[] }): ReactNode {
  const parts = Object.keys(bids[0]?.parts ?? {});
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Scores">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            {parts.map((part) => (
              <th scope="col" className="number" key={part}>
                {plain(part)}
              </th>
            ))}
            <th scope="col" className="number">
              Score
            </th>
          </tr>
        </thead>
        <tbody>
          {bids.map((bid) => (
            <tr key={bid.agentId}>
              <td>{plain(bid.agentId)}</td>
              {parts.map((part) => (
                <td className="number" key={part}>
                  {score(bid.parts[part] ?? 0)}
                </td>
              ))}
              <td className="number">
                <b>{score(bid.score)}</b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Sentence = (facts: Facts, agent: ReactNode) => ReactNode;

const SENTENCES: Record<Entry['kind'], Sentence> = {
  announced: ({ invited }) => `Announced to ${plain(listOf(invited)) || 'nobody'}`,
  bid: ({ price, etaMs, confidence, revision }, agent) => (
    <>
      {agent} bid {amountOf(price)}, {timeOf(etaMs)}, confidence {shareOf(confidence)}
      {Number(revision) > 1 && ` (answer ${count(Number(revision))})`}
    </>
  ),
  refused: ({ note }, agent) => (
    <>
      {agent} refused{typeof note === 'string' && `: ${plain(note)}`}
    </>
  ),
  late: ({ lateMs }, agent) => (
    <>
      {agent} answered {timeOf(lateMs)} too late; the answer has no effect
    </>
  ),
  scored: ({ rule }) => `The bids were opened and scored by the rule “${plain(textOf(rule))}”`,
  left: (_facts, agent) => <>{agent} left the registry, so its bid does not count</>,
  unfunded: ({ code }, agent) => (
    <>
      {agent} was passed over, because no budget allows the price ({plain(textOf(code))})
    </>
  ),
  awarded: ({ price, score: points }, agent) => (
    <>
      {agent} got the award for {amountOf(price)}, with a score of {score(Number(points))}
    </>
  ),
  lapsed: ({ reason }, agent) => (
    <>
      {agent} lost the award: {plain(words(textOf(reason)))}
    </>
  ),
  declined: (_facts, agent) => <>{agent} declined the award</>,
  confirmed: (_facts, agent) => <>{agent} confirmed the award</>,
  lost: ({ agentIds }) => `${plain(listOf(agentIds))} did not win`,
  expired: ({ reason }) => `Expired: ${plain(words(textOf(reason)))}`,
  cancelled: ({ by }) => `Cancelled by ${plain(textOf(by))}`,
  run_started: ({ runId }) => (
    <>
      <Link to="/runs/$runId" params={{ runId: textOf(runId) }} className="text-link">
        A run
      </Link>{' '}
      of the winner started
    </>
  ),
  outcome: ({ ok, microUsd, ms }, agent) => (
    <>
      {agent} {ok === true ? 'completed the task' : 'failed'}
      {typeof microUsd === 'number' && `, ${money(microUsd)}`}
      {typeof ms === 'number' && `, ${spanText(ms)}`}
    </>
  ),
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): string {
  if (!Array.isArray(value)) return '';
  const names = value.map(String);
  return names.slice(0, 8).join(', ') + (names.length > 8 ? `, and ${count(names.length - 8)} more` : '');
}

function amountOf(value: unknown): string {
  return typeof value === 'number' ? money(value) : 'no price';
}

function timeOf(value: unknown): string {
  return typeof value === 'number' ? spanText(value) : 'no time';
}

function shareOf(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value * 100)} %` : 'unknown';
}
