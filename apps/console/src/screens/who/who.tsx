import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue } from 'react';
import type { CandidateView, ExcludedAgentView, QueryBody, RankingView } from '#rollcall/client';
import { count, decimal, money, plain, spanText } from '../../parts/format.js';
import { Meter, Tag, useTitle } from '../../parts/parts.js';
import { Empty, Loaded, Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { origin } from '../agent-words.js';
import { Exclusions } from './exclusions.js';
import { Question, useStrategies } from './question.js';
import { WhyNot } from './why-not.js';

const DEFAULT_LIMIT = 10;
const AUCTION = 'contract-net';
const COMPARED = 3;
/** Reasons contain times, such as that until a probe. */
const READ_EVERY_MS = 5_000;

/** Who would be picked for a task, why, and who was left out. Nothing is reserved, called or moved in a rotation. */
export function Who(): ReactNode {
  useTitle('Who would be picked?');
  const { query = {}, about } = useSearch({ from: '/who' });
  const navigate = useNavigate({ from: '/who' });
  const change = (next: QueryBody): void =>
    void navigate({ search: ({ query: _query, ...rest }) => ({ ...rest, query: next }), replace: true });
  const ask = (agentId: string): void =>
    void navigate({
      search: ({ about: _about, ...rest }) => ({ ...rest, ...(agentId !== '' && { about: agentId }) }),
      replace: true,
    });
  const asked = useDeferredValue(query);
  const ranking = useRanking(asked, about);
  const isAuction = asked.prefer === AUCTION;
  return (
    <div className="who">
      <div className="grid">
        <Question query={query} onChange={change} />
        <WhyNot about={about} ranking={isAuction ? undefined : ranking.data} onAsk={ask} />
      </div>
      <div className="grid">
        {isAuction ? (
          <section className="card">
            <Empty>
              With <code>contract-net</code>, the agents are really invited to bid, so this page does not ask. Choose
              another strategy, or announce a contract: <code>rollcall contracts announce</code>.
            </Empty>
          </section>
        ) : (
          <>
            {ranking.data && ranking.error && <Problem error={ranking.error} />}
            <Loaded query={ranking}>
              {(data) => (
                <>
                  <Answer ranking={data} query={asked} onChange={change} />
                  <Candidates ranking={data} about={about} />
                </>
              )}
            </Loaded>
            <Compared query={asked} onChange={change} />
            {ranking.data && <LeftOut ranking={ranking.data} />}
          </>
        )}
      </div>
    </div>
  );
}

function useRanking(query: QueryBody, about: string | undefined) {
  const { api } = useCaller();
  const body = { limit: DEFAULT_LIMIT, ...query, explain: true, ...(about !== undefined && { about }) };
  return useQuery({
    queryKey: ['agents', 'query', body],
    enabled: query.prefer !== AUCTION,
    queryFn: async ({ signal }) => await api.agents.query(body, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: READ_EVERY_MS,
  });
}

interface AnswerProps {
  ranking: RankingView;
  query: QueryBody;
  onChange: (query: QueryBody) => void;
}

/** The answer in a sentence, and what is wrong with the question. */
function Answer({ ranking, query, onChange }: AnswerProps): ReactNode {
  const { candidates, prefer, failedStrategy, unclaimed = [] } = ranking;
  const [first, second] = candidates;
  return (
    <section className="card" aria-live="polite">
      <ul className="plain-list">
        <li className="need answer">
          <Tag tone={first ? 'good' : 'bad'}>{first ? 'picked' : 'nobody'}</Tag>
          {first ? (
            <p>
              <AgentLink agentId={first.agent.agentId} /> would be picked: {plain(first.reasons.join(', '))}
              {second ? (
                <>
                  . Next by {prefer}: <AgentLink agentId={second.agent.agentId} />, {plain(second.reasons[0] ?? '')}.
                </>
              ) : (
                '. It is the only candidate.'
              )}
            </p>
          ) : (
            <p>{nobodyText(ranking)}</p>
          )}
        </li>
        {failedStrategy !== undefined && (
          <li className="need answer">
            <Tag tone="warn">strategy</Tag>
            <p>
              <b>{plain(failedStrategy)}</b> failed on this replica a moment ago, so <b>{prefer}</b> ranks instead.
            </p>
          </li>
        )}
        {unclaimed.map(({ capability, similar }) => (
          <li className="need answer" key={capability}>
            <Tag tone="warn">unknown</Tag>
            <p>
              No agent claims <b>{plain(capability)}</b>
              {similar.length > 0 ? '. Did you mean ' : '.'}
              {similar.map((one) => (
                <button
                  key={one}
                  type="button"
                  className="chip"
                  onClick={() => onChange(replaced(query, capability, one))}
                >
                  {plain(one)}
                </button>
              ))}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function nobodyText({ excludedTotal = 0, retryAfterMs }: RankingView): string {
  if (excludedTotal === 0) return 'No agent of this namespace comes near: register one with these capabilities.';
  const left = `${count(excludedTotal)} ${excludedTotal === 1 ? 'agent was' : 'agents were'} left out, see below.`;
  if (retryAfterMs === null) return `${left} Waiting alone does not change that.`;
  return `${left} The first of them is a candidate again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
}

/** The query with another spelling of a capability. */
function replaced(query: QueryBody, from: string, to: string): QueryBody {
  const swap = (names: string[] | undefined): string[] | undefined =>
    names?.map((name) => (name.toLowerCase() === from ? to : name));
  const [capabilities, any] = [swap(query.capabilities), swap(query.any)];
  return { ...query, ...(capabilities && { capabilities }), ...(any && { any }) };
}

function AgentLink({ agentId }: { agentId: string }): ReactNode {
  return (
    <b>
      <Link to="/agents/$agentId" params={{ agentId }} className="text-link">
        {plain(agentId)}
      </Link>
    </b>
  );
}

const MARKS: Record<CandidateView['marks'][number], string> = {
  low_budget: 'low budget',
  saturated: 'no free capacity',
  suspect: 'suspect',
  probe: 'probe first',
  fuzzy_match: 'similar name',
};

function Candidates({ ranking, about }: { ranking: RankingView; about: string | undefined }): ReactNode {
  const { candidates, scoreMeaning, prefer } = ranking;
  return (
    <section className="card">
      <header>
        <h2>Ranking</h2>
        <small>
          {prefer}: {scoreMeaning}
        </small>
      </header>
      {candidates.length === 0 ? (
        <Empty>There is no candidate. What would change that is below, for each agent.</Empty>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Ranking">
          <table>
            <thead>
              <tr>
                <th scope="col" className="number">
                  Rank
                </th>
                <th scope="col">Agent</th>
                <th scope="col">Why</th>
                <th scope="col" className="secondary">
                  Load
                </th>
                <th scope="col" className="number">
                  Score
                </th>
              </tr>
            </thead>
            <tbody>
              {candidates.map((candidate) => (
                <Candidate
                  key={candidate.agent.agentId}
                  candidate={candidate}
                  scoreMeaning={scoreMeaning}
                  isAsked={candidate.agent.agentId === about}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface CandidateProps {
  candidate: CandidateView;
  scoreMeaning: string;
  /** Whether “Why not this one?” names it. */
  isAsked: boolean;
}

function Candidate({ candidate, scoreMeaning, isAsked }: CandidateProps): ReactNode {
  const { rank, agent, reasons, marks, score } = candidate;
  const { agentId, load } = agent;
  const told = reasons.slice(0, reasons.length - marks.length);
  return (
    <tr className={isAsked ? 'selected' : ''}>
      <td className="number rank">{rank}</td>
      <td title={plain(agentId)}>
        <Link to="/agents/$agentId" params={{ agentId }}>
          {plain(agentId)}
        </Link>
        <small className="secondary">{origin(agent)}</small>
      </td>
      <td className="reasons">
        {plain(told.join(' · '))}{' '}
        {marks.map((mark) => (
          <Tag key={mark} tone="warn">
            {MARKS[mark]}
          </Tag>
        ))}
      </td>
      <td className="secondary">
        <Meter share={load.ratio} {...(load.ratio >= 0.8 && { tone: 'warn' as const })}>
          {Math.round(load.ratio * 100)} %
        </Meter>
      </td>
      <td className="number">{scoreText(score, scoreMeaning)}</td>
    </tr>
  );
}

/** The built-in strategies state their unit first: US dollars, milliseconds, a share. */
function scoreText(score: number | null, meaning: string): string {
  if (score === null) return '–';
  if (meaning.startsWith('US dollars')) return money(score * 1_000_000);
  if (meaning.startsWith('milliseconds')) return spanText(score);
  return meaning.startsWith('share') ? `${Math.round(score * 100)} %` : decimal(score);
}

/** The agents that are not candidates, each with what would change it. */
function LeftOut({ ranking: { excluded = [], excludedTotal = 0 } }: { ranking: RankingView }): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>Left out</h2>
        <small>
          {excludedTotal > excluded.length
            ? `${count(excluded.length)} of ${count(excludedTotal)}, those with the fewest reasons`
            : excludedTotal > 0 && count(excludedTotal)}
        </small>
      </header>
      {excluded.length === 0 ? (
        <Empty>Every agent that comes near is a candidate.</Empty>
      ) : (
        <ul className="plain-list left-out">
          {excluded.map((agent) => (
            <Excluded key={agent.agentId} agent={agent} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Excluded({ agent: { agentId, exclusions } }: { agent: ExcludedAgentView }): ReactNode {
  return (
    <li className="excluded">
      <AgentLink agentId={agentId} />
      <Exclusions exclusions={exclusions} />
    </li>
  );
}

/** Whom each strategy would pick for the same question. */
function Compared({ query, onChange }: Omit<AnswerProps, 'ranking'>): ReactNode {
  const { api } = useCaller();
  const strategies = useStrategies();
  const results = useQueries({
    queries: strategies.map((prefer) => {
      const body = { ...query, prefer, limit: COMPARED, explain: true };
      return {
        queryKey: ['agents', 'query', body],
        queryFn: async ({ signal }: { signal: AbortSignal }) => await api.agents.query(body, { signal }),
        placeholderData: keepPreviousData,
      };
    }),
  });
  const chosen = query.prefer ?? strategies[0];
  return (
    <section className="card">
      <header>
        <h2>Strategies compared</h2>
        <small>the same question, ranked by each</small>
      </header>
      <div className="scroll" tabIndex={0} role="region" aria-label="Strategies compared">
        <table>
          <thead>
            <tr>
              <th scope="col">Strategy</th>
              <th scope="col">First</th>
              <th scope="col" className="secondary">
                Second
              </th>
              <th scope="col" className="secondary">
                Third
              </th>
              <th scope="col" className="secondary">
                Why the first
              </th>
            </tr>
          </thead>
          <tbody>
            {strategies.map((strategy, at) => {
              const { candidates = [], failedStrategy, scoreMeaning = '' } = results[at]?.data ?? {};
              return (
                <tr key={strategy} className={strategy === chosen ? 'selected' : ''}>
                  <td>
                    <button
                      type="button"
                      className="link-button"
                      aria-pressed={strategy === chosen}
                      onClick={() => onChange({ ...query, prefer: strategy })}
                    >
                      {plain(strategy)}
                    </button>
                  </td>
                  {[0, 1, 2].map((place) => {
                    const candidate = candidates[place];
                    return (
                      <td key={place} className={place > 0 ? 'secondary' : ''}>
                        {candidate ? plain(candidate.agent.agentId) : '–'}
                        {candidate && candidate.score !== null && (
                          <small>{scoreText(candidate.score, scoreMeaning)}</small>
                        )}
                      </td>
                    );
                  })}
                  <td className="muted secondary">
                    {failedStrategy === undefined ? plain(candidates[0]?.reasons[0] ?? '–') : 'failed a moment ago'}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
