/** Turns a host's link into commands for `tc`. */

/** A host's link to the router. Omitted members mean no limit, delay or loss. */
export interface Link {
  /** Rate to the host, Mbit/s. */
  readonly downMbit?: number;
  /** Rate from the host, Mbit/s. */
  readonly upMbit?: number;
  /** Round trip between host and router; between two hosts, the round trips add up. */
  readonly rttMs?: number;
  /** Share of packets lost in each direction, 0 to 1. */
  readonly loss?: number;
  /** Longest queue before each rate limit, milliseconds at that rate; default 80. */
  readonly queueMs?: number;
}

/** Default queue: about the bandwidth-delay product of the longest paths in the experiments. */
export const QUEUE_MS = 80;
/** Smallest queue: a smaller one would lose packets of a single burst. */
const MIN_QUEUE_BYTES = 20 * 1514;
/** Longest burst: short enough that the rate holds on the scale of a round trip. */
const BURST_MS = 1;
const MIN_BURST_BYTES = 4 * 1514;
/** Queue of `netem`: more packets than are ever under way. */
const NETEM_PACKETS = 100_000;

/** Returns the size of the queue before a rate limit, bytes. */
export function queueBytes(mbit: number, link: Link): number {
  const bytes = ((link.queueMs ?? QUEUE_MS) / 1000) * ((mbit * 1e6) / 8);
  return Math.round(Math.max(MIN_QUEUE_BYTES, bytes));
}

/** Returns commands for `tc -batch` that set or replace one direction of a link on a device. */
export function linkCommands(device: string, link: Link, direction: 'down' | 'up'): string[] {
  const mbit = direction === 'down' ? link.downMbit : link.upMbit;
  const at = `qdisc replace dev ${device}`;
  const delay = `delay ${((link.rttMs ?? 0) / 2).toFixed(3)}ms`;
  const loss = `loss ${((link.loss ?? 0) * 100).toFixed(4)}%`;
  const commands = [`${at} root handle 1: netem ${delay} ${loss} limit ${NETEM_PACKETS}`];
  if (mbit === undefined) return [...commands, `${at} parent 1:1 pfifo limit ${NETEM_PACKETS}`];
  const burst = Math.round(Math.max(MIN_BURST_BYTES, ((mbit * 1e6) / 8 / 1000) * BURST_MS));
  const rate = `rate ${mbit}mbit burst ${burst} limit ${queueBytes(mbit, link)}`;
  return [...commands, `${at} parent 1:1 handle 10: tbf ${rate}`];
}
