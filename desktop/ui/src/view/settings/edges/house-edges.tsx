import type { EdgeEntry, HouseEdgeView } from '@millrace/shared/bridge/rpc/edge-api';
import { useEffect, useState } from 'react';
import { hostOf } from '../../../text/format.ts';
import { useApp, useText } from '../../common/context.tsx';

/** Interval of asking for what has been found while the list is shown, in milliseconds. */
const LOOK_MS = 3000;

interface HouseEdgesProps {
  /** Edges that are set up already. */
  readonly known: readonly EdgeEntry[];
  readonly onAdd: (edges: readonly EdgeEntry[]) => void;
}

/** The edges that were found on the local network, each of which can be set up as one's own. */
export function HouseEdges({ known, onAdd }: HouseEdgesProps) {
  const text = useText();
  const app = useApp();
  const [found, setFound] = useState<readonly HouseEdgeView[]>([]);
  useEffect(() => {
    const look = () => {
      app
        .call('millrace.houseEdges', {})
        .then(({ edges }) => setFound(edges))
        .catch(() => {}); // The page says elsewhere that the daemon does not answer.
    };
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [app]);
  if (found.length === 0) {
    return (
      <p className="note" role="status">
        {text.t('house.none')}
      </p>
    );
  }
  const add = async ({ url, name }: HouseEdgeView) => {
    const added = await app.attempt(app.call('millrace.addEdge', { url, name }));
    if (added !== undefined) onAdd(added.edges);
  };
  const isKnown = ({ url }: HouseEdgeView) =>
    known.some((edge) => URL.parse(edge.url)?.origin === URL.parse(url)?.origin);
  return (
    <ul className="edges house" aria-label={text.t('house.list')}>
      {found.map((edge) => {
        const { url, address, name, rttMs } = edge;
        const title = name === '' ? hostOf(url) : name;
        return (
          <li key={`${address} ${url}`}>
            <div className="edge-name">
              <strong className="cut">{title}</strong>
              <span className="note cut">{url}</span>
              <span className="note figures">
                <i className="dot good" />
                {text.t('edges.ok', { ms: text.number(rttMs, rttMs < 10 ? 1 : 0) })}
              </span>
            </div>
            {!isKnown(edge) && (
              <button
                type="button"
                className="button small"
                title={text.t('house.add.help', { name: title })}
                onClick={() => void add(edge)}
              >
                {text.t('house.add')}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
