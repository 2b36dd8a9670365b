import { type ReactNode, useEffect, useRef } from 'react';
import Plot from 'uplot';
import { clock, day } from './format.js';

interface ChartProps {
  /** What the chart shows, for people who cannot see it. */
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  values: readonly (number | null)[];
  /** A horizontal line. */
  limit?: number | undefined;
  /** Where the values go from here, as a dashed line. */
  forecast?: readonly { readonly at: number; readonly value: number }[];
  format: (value: number) => string;
}

const HEIGHT = 214;
const NONE: NonNullable<ChartProps['forecast']> = [];
const DAYS_S = 2 * 86_400;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || 'gray';
}

/** Canvas needs a concrete colour, so that of the current theme is read from an element. */
function resolved(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = colour(name);
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Over several days: the date, and the time of day between two dates. */
function timeText(seconds: number, isLong: boolean): string {
  const time = new Date(seconds * 1_000);
  return isLong && time.getHours() === 0 ? day(time) : clock(time);
}

/** A sum over time, in steps. The default export is loaded on demand: the library is not part of the first page. */
export default function Chart({ label, times, values, limit, forecast = NONE, format }: ChartProps): ReactNode {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    const draw = (): Plot => {
      const names = ['--accent', '--accent-soft', '--muted', '--line-soft', '--bad', '--warn'];
      const [line, fill, muted, soft, bad, warn] = names.map(resolved);
      const known = new Map(forecast.map(({ at, value }) => [at, value]));
      const all = [...times, ...[...known.keys()].filter((at) => at > (times.at(-1) ?? 0))];
      const isLong = (all.at(-1) ?? 0) - (all[0] ?? 0) > DAYS_S;
      const grid = { stroke: soft ?? 'gray', width: 1 };
      const axis = { stroke: muted ?? 'gray', grid, ticks: { show: false }, font: '11px sans-serif' };
      const stepped = Plot.paths.stepped?.({ align: 1 });
      return new Plot(
        {
          width: element.clientWidth,
          height: HEIGHT,
          cursor: { show: false },
          legend: { show: false },
          scales: { y: { range: (_plot, _min, max) => [0, Math.max(max, limit ?? 0, 1e-6) * 1.1] } },
          axes: [
            { ...axis, values: (_plot, at) => at.map((seconds) => timeText(seconds, isLong)) },
            { ...axis, size: 64, values: (_plot, ticks) => ticks.map(format) },
          ],
          series: [
            {},
            {
              stroke: line ?? 'blue',
              fill: fill ?? 'blue',
              width: 2,
              points: { show: false },
              ...(stepped && { paths: stepped }),
            },
            { stroke: bad ?? 'red', width: 1, dash: [4, 4], points: { show: false } },
            { stroke: warn ?? 'orange', width: 2, dash: [3, 4], points: { show: false }, spanGaps: true },
          ],
        },
        [
          all,
          all.map((_at, index) => values[index] ?? null),
          all.map(() => limit ?? null),
          all.map((at) => known.get(at) ?? null),
        ],
        element,
      );
    };
    let plot = draw();
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => {
      plot.destroy();
      plot = draw();
    };
    scheme.addEventListener('change', redraw);
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      theme.disconnect();
      scheme.removeEventListener('change', redraw);
      observer.disconnect();
      plot.destroy();
    };
  }, [times, values, limit, forecast, format]);
  return <div ref={holder} role="img" aria-label={label} />;
}
