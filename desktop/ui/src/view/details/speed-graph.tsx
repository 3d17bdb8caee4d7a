/** The graph of a download's speed over the last ten minutes. */

import type { SpeedHistory } from '@millrace/shared/bridge/rpc/detail-api';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { clock, clockSeconds, rate } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';
import { useText } from '../common/context.tsx';
import { useElementWidth } from '../common/element-width.ts';
import { useDark } from '../common/theme.ts';

const HEIGHT = 132;
const MINUTES = 10;
/** Steps of the scale: powers of two make round figures in KiB and MiB. */
const BINARY_STEPS = Array.from({ length: 40 }, (_, i) => 2 ** i);

export function SpeedGraph({ speed }: { speed: SpeedHistory }) {
  const text = useText();
  const dark = useDark();
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const latest = useRef(speed);
  latest.current = speed;
  const width = useElementWidth(frame);
  const has = speed.bytesPerSecond.length > 1;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot reads colours once.
  useEffect(() => {
    if (frame.current === null || width === 0 || !has) return;
    const made = new UPlot(options(text, width), dataOf(latest.current), frame.current);
    plot.current = made;
    return () => {
      plot.current = undefined;
      made.destroy();
    };
  }, [text, dark, width, has]);

  useEffect(() => plot.current?.setData(dataOf(speed)), [speed]);

  return (
    <div
      ref={frame}
      className="speed-graph"
      role="img"
      aria-label={text.t('details.speed.label', { minutes: MINUTES })}
    >
      {!has && <p className="note">{text.t('details.speed.none')}</p>}
    </div>
  );
}

function dataOf({ endsAt, stepMs, bytesPerSecond }: SpeedHistory): UPlot.AlignedData {
  const first = endsAt - (bytesPerSecond.length - 1) * stepMs;
  return [bytesPerSecond.map((_, i) => (first + i * stepMs) / 1000), [...bytesPerSecond]];
}

/**
 * Returns the top of the scale, bytes per second: two or three steps, so that the highest line is
 * the scale's end and has its label.
 */
function scaleTop(max: number): number {
  const step = BINARY_STEPS.find((one) => one >= 512 && max <= one * 3) ?? max;
  return Math.max(2, Math.ceil(max / step)) * step;
}

function options(text: Text, width: number): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--text-3'),
    font: `11px ${colour('--font')}`,
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: true },
      y: { range: (_, __, max) => [0, scaleTop(max)] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 4,
        space: 96,
        grid: { show: false },
        values: (_, marks, __, ___, step) =>
          marks.map((mark) => (step < 60 ? clockSeconds : clock)(text, mark * 1000)),
      },
      {
        ...axis,
        size: 70,
        gap: 6,
        space: 30,
        incrs: BINARY_STEPS,
        grid: { stroke: colour('--line'), width: 1 },
        values: (_, marks) => marks.map((mark) => rate(text, mark)),
      },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        fill: `${colour('--accent')}22`,
        width: 1.5,
        points: { show: false },
      },
    ],
  };
}
