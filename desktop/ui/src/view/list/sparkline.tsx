/** A small graph of the latest total speed, without figures. */

import { useAppState } from '../common/context.tsx';

const SAMPLES = 90;
const WIDTH = 180;
const HEIGHT = 34;

export function Sparkline() {
  const { bytesPerSecond } = useAppState((state) => state.speed);
  const last = bytesPerSecond.slice(-SAMPLES);
  const peak = Math.max(1, ...last);
  const first = SAMPLES - last.length;
  const points = last.map((value, i) => {
    const x = ((first + i) / (SAMPLES - 1)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 1 - (value / peak) * (HEIGHT - 3)).toFixed(1)}`;
  });
  const start = ((first / (SAMPLES - 1)) * WIDTH).toFixed(1);
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className="base" d={`M0 ${HEIGHT - 1}H${WIDTH}`} />
      {points.length > 1 && (
        <>
          <path
            className="area"
            d={`M${start},${HEIGHT - 1}L${points.join('L')}L${WIDTH},${HEIGHT - 1}Z`}
          />
          <path className="curve" d={`M${points.join('L')}`} />
        </>
      )}
    </svg>
  );
}
