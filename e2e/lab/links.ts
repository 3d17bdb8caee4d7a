/** Turns a host's link into commands for `tc`. */

/** A host's link to the router. Omitted members mean no limit, delay or loss. */
export interface Link {
  /** To the host, Mbit/s. */
  readonly downMbit?: number;
  /** From the host, Mbit/s. */
  readonly upMbit?: number;
  /** Round trip between host and router; that between two hosts is the sum of theirs. */
  readonly rttMs?: number;
  /** Share of the packets that is lost in each direction, 0 to 1. */
  readonly loss?: number;
  /** How long the queue before each rate limit may grow, milliseconds at that rate; 80 unless given. */
  readonly queueMs?: number;
}

/** About a bandwidth-delay product of the longest ways in the experiments. */
export const QUEUE_MS = 80;
/** A queue of less loses packets of a single burst. */
const MIN_QUEUE_BYTES = 20 * 1514;
/** Longest burst: short enough that a rate is one on the scale of a round trip. */
const BURST_MS = 1;
const MIN_BURST_BYTES = 4 * 1514;
/** More than are ever under way. */
const NETEM_PACKETS = 100_000;

/** How much a queue before a rate holds. */
export function queueBytes(mbit: number, link: Link): number {
  const bytes = ((link.queueMs ?? QUEUE_MS) / 1000) * ((mbit * 1e6) / 8);
  return Math.round(Math.max(MIN_QUEUE_BYTES, bytes));
}

/**
 * Commands for `tc -batch` that give a device one direction of a link, in place of its earlier
 * settings.
 */
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
