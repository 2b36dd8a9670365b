import { type ReactNode, useEffect, useId, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RankingView } from '#rollcall/client';
import { count, plain } from '../../parts/format.js';
import { Tag } from '../../parts/parts.js';
import { Empty } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Exclusions } from './exclusions.js';

const SUGGESTED = 8;

interface WhyNotProps {
  about: string | undefined;
  ranking: RankingView | undefined;
  onAsk: (agentId: string) => void;
}

/** Where one agent is in the ranking, and what separates it from the first. */
export function WhyNot({ about, ranking, onAsk }: WhyNotProps): ReactNode {
  const id = useId();
  const [text, setText] = useState(about ?? '');
  const suggestions = useAgentIds(text);
  const named = text.trim();
  const isKnown = named === '' || suggestions.includes(named);
  useEffect(() => {
    if (isKnown && named !== (about ?? '')) onAsk(named);
    // only what somebody types is a question, so a new `about` or `onAsk` is none
  }, [isKnown, named]);
  return (
    <section className="card why-not">
      <h2>
        <label htmlFor={id}>Why not this one?</label>
      </h2>
      <form
        className="padded"
        onSubmit={(event) => {
          event.preventDefault();
          onAsk(named);
        }}
      >
        <div className="ask">
          <input
            id={id}
            className="field"
            type="search"
            list={`${id}-agents`}
            autoComplete="off"
            spellCheck={false}
            placeholder="agentId"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <button className="button" type="submit">
            Ask
          </button>
        </div>
        <datalist id={`${id}-agents`}>
          {suggestions.map((agentId) => (
            <option key={agentId} value={agentId} />
          ))}
        </datalist>
      </form>
      {about === undefined ? (
        <Empty>Name an agent, and read what keeps it from the first place.</Empty>
      ) : (
        ranking?.about?.agentId === about && <Verdict ranking={ranking} about={ranking.about} />
      )}
    </section>
  );
}

function useAgentIds(text: string): string[] {
  const { api } = useCaller();
  const q = text.trim();
  const { data } = useQuery({
    queryKey: ['agents', 'names', q],
    queryFn: async ({ signal }) =>
      (await api.agents.list({ ...(q !== '' && { q }), limit: SUGGESTED }, { signal }).page()).items.map(
        ({ agentId }) => agentId,
      ),
    staleTime: 30_000,
  });
  return data ?? [];
}

function Verdict({ ranking, about }: { ranking: RankingView; about: NonNullable<RankingView['about']> }): ReactNode {
  const { agentId, rank, reasons, exclusions } = about;
  const first = ranking.candidates[0];
  const name = (
    <b>
      <Link to="/agents/$agentId" params={{ agentId }} className="text-link">
        {plain(agentId)}
      </Link>
    </b>
  );
  if (exclusions.length > 0)
    return (
      <div className="verdict" role="status">
        <p>{name} is left out:</p>
        <Exclusions exclusions={exclusions} />
      </div>
    );
  return (
    <div className="verdict" role="status">
      <p>
        <Tag tone={rank === 1 ? 'good' : 'info'}>{rank === null ? 'far behind' : `rank ${count(rank)}`}</Tag> {name}{' '}
        {rank === 1 ? 'is the one that would be picked' : 'is a candidate'}: {plain(reasons.join(', '))}.
      </p>
      {rank !== 1 && first && (
        <p className="muted">
          The first, <b>{plain(first.agent.agentId)}</b>: {plain(first.reasons.join(', '))}. Compared by{' '}
          {ranking.scoreMeaning}.
        </p>
      )}
    </div>
  );
}
