import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { age, moment, plain } from './format.js';

export type Tone = 'good' | 'warn' | 'bad' | 'off' | 'info';

export function Tag({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode {
  return <span className={`tag ${tone}`}>{children}</span>;
}

/** One clock for all ages of the page. */
class Ticker {
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setInterval> | undefined;
  now = Date.now();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.timer === undefined) {
      this.now = Date.now();
      this.timer = setInterval(() => this.tick(), 1_000);
    }
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  };

  private tick(): void {
    if (document.hidden) return;
    this.now = Date.now();
    this.listeners.forEach((listener) => listener());
  }
}

const ticker = new Ticker();

export function useNow(): number {
  return useSyncExternalStore(ticker.subscribe, () => ticker.now);
}

/** How long ago, with the exact time on hover. */
export function Ago({ at }: { at: string | null }): ReactNode {
  const now = useNow();
  if (at === null) return <span className="muted">never</span>;
  return (
    <time dateTime={at} title={moment(at)} className="muted">
      {age(Math.max(0, now - new Date(at).getTime()))}
    </time>
  );
}

/** A share between 0 and 1. The SVG attribute sets the width, because the policy of the page allows no style attribute. */
export function Meter({ share, tone, children }: { share: number; tone?: Tone; children: ReactNode }): ReactNode {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return (
    <span className={`meter ${tone ?? ''}`}>
      <svg aria-hidden="true">
        <rect width={width} height="100%" />
      </svg>
      {children}
    </span>
  );
}

const FOLDED = 2_000;

/** Text that an agent, a model or a tool wrote. It is never markup, and a long text is folded. */
export function ForeignText({ text }: { text: string }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? text : text.slice(0, FOLDED);
  return (
    <>
      <pre tabIndex={0}>{plain(shown)}</pre>
      {text.length > FOLDED && (
        <button className="button quiet" type="button" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${text.length} characters`}
        </button>
      )}
    </>
  );
}

export function Json({ value }: { value: unknown }): ReactNode {
  return <ForeignText text={typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing')} />;
}

export function Stat({
  label,
  value,
  detail,
  tone,
}: {
  label: string;
  value: ReactNode;
  detail?: ReactNode;
  tone?: 'good' | 'bad';
}): ReactNode {
  return (
    <div className="card stat">
      <span>{label}</span>
      <strong>{value}</strong>
      {detail !== undefined && <em className={tone}>{detail}</em>}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Rollcall`;
  }, [title]);
}

/** A row of a list of facts. */
export function Fact({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}
