import type { ReactNode } from 'react';
import type { ExcludedAgentView } from '#rollcall/client';
import { plain, words } from '../../parts/format.js';
import { Tag, type Tone } from '../../parts/parts.js';

type Code = ExcludedAgentView['exclusions'][number]['code'];

/** Other reasons are conditions of the question. */
const TONES: Partial<Record<Code, Tone>> = {
  quarantined: 'bad',
  budget_exhausted: 'bad',
  circuit_open: 'bad',
  circuit_probing: 'warn',
  flapping: 'warn',
};

/** The reasons why an agent is no candidate, each with what would change it. */
export function Exclusions({ exclusions }: Pick<ExcludedAgentView, 'exclusions'>): ReactNode {
  return (
    <ul className="plain-list exclusions">
      {exclusions.map(({ code, text, eligibleWhen }) => (
        <li key={`${code} ${text}`}>
          <Tag tone={TONES[code] ?? 'off'}>{words(code)}</Tag>
          <p>
            {plain(sentence(text))} <span>A candidate when {plain(eligibleWhen.text)}.</span>
          </p>
        </li>
      ))}
    </ul>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
