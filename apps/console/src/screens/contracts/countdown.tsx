import type { ReactNode } from 'react';
import { moment, spanText } from '../../parts/format.js';
import { Meter, useNow } from '../../parts/parts.js';

interface CountdownProps {
  from: string;
  until: string;
  /** What happens at the end. */
  what: string;
}

/** The time that is left, ticking. */
export function Countdown({ from, until, what }: CountdownProps): ReactNode {
  const now = useNow();
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const left = Math.max(0, end - now);
  const share = end > start ? left / (end - start) : 0;
  const seconds = Math.ceil(left / 1_000) * 1_000;
  return (
    <span className="countdown" title={moment(until)}>
      <Meter share={share} {...(share < 0.2 && { tone: 'warn' as const })}>
        <b>{seconds === 0 ? 'now' : seconds < 60_000 ? `${seconds / 1_000} s` : spanText(seconds)}</b>
      </Meter>
      <span className="muted">{what}</span>
    </span>
  );
}
