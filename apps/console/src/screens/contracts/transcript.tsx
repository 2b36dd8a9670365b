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
            <div>
              <p>{sentence(entry.kind, facts)}</p>
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

function sentence(kind: Entry['kind'], facts: Facts): ReactNode {
  const agent = <b>{plain(textOf(facts['agentId']))}</b>;
  switch (kind) {
    case 'announced':
      return <>Announced to {plain(listOf(facts['invited'])) || 'nobody'}</>;
    case 'bid':
      return (
        <>
          {agent} bid {amountOf(facts['price'])}, {timeOf(facts['etaMs'])}, confidence {numberOf(facts['confidence'])}
          {Number(facts['revision']) > 1 && ` (answer ${count(Number(facts['revision']))})`}
        </>
      );
    case 'refused':
      return (
        <>
          {agent} refused{typeof facts['note'] === 'string' && `: ${plain(facts['note'])}`}
        </>
      );
    case 'late':
      return (
        <>
          {agent} answered {timeOf(facts['lateMs'])} too late; the answer has no effect
        </>
      );
    case 'scored':
      return <>The bids were opened and scored by the rule “{plain(textOf(facts['rule']))}”</>;
    case 'awarded':
      return (
        <>
          {agent} got the award for {amountOf(facts['price'])}, with a score of {score(Number(facts['score']))}
        </>
      );
    case 'unfunded':
      return (
        <>
          {agent} was passed over, because no budget allows the price ({plain(textOf(facts['code']))})
        </>
      );
    case 'lost':
      return <>{plain(listOf(facts['agentIds']))} did not win</>;
    case 'run_started':
      return (
        <>
          <Link to="/runs/$runId" params={{ runId: textOf(facts['runId']) }} className="text-link">
            A run
          </Link>{' '}
          of the winner started
        </>
      );
    case 'outcome':
      return (
        <>
          {agent} {facts['ok'] === true ? 'completed the task' : 'failed'}
          {typeof facts['microUsd'] === 'number' && `, ${money(facts['microUsd'])}`}
          {typeof facts['ms'] === 'number' && `, ${spanText(facts['ms'])}`}
        </>
      );
    default:
      return (
        <>
          {facts['agentId'] === undefined ? null : <>{agent} </>}
          {OTHERS[kind]}
          {typeof facts['reason'] === 'string' && `: ${plain(words(facts['reason']))}`}
          {typeof facts['by'] === 'string' && ` by ${plain(facts['by'])}`}
        </>
      );
  }
}

const OTHERS: Partial<Record<Entry['kind'], string>> = {
  left: 'left the registry, so its bid does not count',
  lapsed: 'lost the award',
  declined: 'declined the award',
  confirmed: 'confirmed the award',
  expired: 'Expired',
  cancelled: 'Cancelled',
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

function numberOf(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value * 100)} %` : 'unknown';
}
