import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import type { CloudEventView, Rollcall } from '#rollcall/client';
import { age, moment } from '../../parts/format.js';
import { useNow } from '../../parts/parts.js';
import { useCaller } from '../../session/session.js';

const STEPS = 500;
/** A search begins when the slider has rested this long. */
const RESTED_MS = 300;

interface TimeSliderProps {
  /** The time of the newest event that is shown; absent: now. */
  until: string | undefined;
  /** Shows the events before this sequence; absent: the newest. */
  onChange: (before: number | undefined) => void;
}

/** Goes back in time. The log is ordered by sequence, so the position of a time is searched in halves. */
export function TimeSlider({ until, onChange }: TimeSliderProps): ReactNode {
  const { api } = useCaller();
  const now = useNow();
  const [wanted, setWanted] = useState<number>();
  const oldest = useQuery({
    queryKey: ['log', 'oldest'],
    queryFn: async ({ signal }) => (await api.events.page({ after: 'oldest', limit: 1 }, { signal })).items[0] ?? null,
  });
  const first = oldest.data;
  useEffect(() => {
    if (wanted === undefined || !first) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => void find(), RESTED_MS);
    const find = async (): Promise<void> => {
      const before = await sequenceAfter(api, new Date(wanted), first, abort.signal).catch(() => undefined);
      if (abort.signal.aborted) return;
      onChange(before);
      setWanted(undefined);
    };
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, wanted, first, onChange]);
  if (!first) return null;
  const start = Date.parse(first.time);
  const at = wanted ?? (until === undefined ? now : Date.parse(until));
  const span = Math.max(1, now - start);
  const position = Math.round(((at - start) / span) * STEPS);
  const text = at >= now - span / STEPS ? 'now' : moment(at);
  return (
    <div className="time-slider">
      <span className="muted" title={moment(start)}>
        {age(Math.max(0, now - start))} ago
      </span>
      <input
        type="range"
        aria-label="Show events until"
        aria-valuetext={text}
        min={0}
        max={STEPS}
        value={Math.min(STEPS, Math.max(0, position))}
        onChange={({ target }) => {
          const value = Number(target.value);
          if (value < STEPS) setWanted(start + (value / STEPS) * span);
          else {
            setWanted(undefined);
            onChange(undefined);
          }
        }}
      />
      <b>{text}</b>
    </div>
  );
}

/** The sequence after the last event until this time. Undefined: there is no later event. */
async function sequenceAfter(
  api: Rollcall,
  time: Date,
  first: CloudEventView,
  signal: AbortSignal,
): Promise<number | undefined> {
  const newestBefore = async (before: string): Promise<CloudEventView | undefined> =>
    (await api.events.page({ before, limit: 1 }, { signal })).items[0];
  const newest = await newestBefore('latest');
  if (!newest || new Date(newest.time) <= time) return undefined;
  let [low, high] = [Number(first.sequence), Number(newest.sequence)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const event = await newestBefore(String(middle + 1));
    if (event && new Date(event.time) > time) high = Math.min(middle, Number(event.sequence));
    else low = middle;
  }
  return high;
}
