/** Runs commands of the command line that faults may kill, and repeats them. */

import { createInterface } from 'node:readline';
import { CliProcess, type CliResult } from '../../fixtures/programs/processes.ts';
import { Progress } from './progress.ts';

/** An event that a command prints with `--json`. */
interface CommandEvent {
  readonly event: string;
  readonly storedBytes?: number;
  readonly code?: string;
  readonly message?: string;
  readonly [more: string]: unknown;
}

/** End of a command. */
export interface CommandEnd {
  readonly result: CliResult;
  readonly events: readonly CommandEvent[];
  readonly ended: 'itself' | 'killed' | 'hung';
}

export class RunningCommands {
  /** Running commands by the number of their seat. */
  readonly #running = new Map<number, () => void>();

  /** Kills the command in a seat with SIGKILL, if one runs. */
  kill(seat: number): void {
    this.#running.get(seat)?.();
  }

  /**
   * Runs a command to its end.
   *
   * @param seat number by which faults find it
   * @param signal kills it
   */
  async run(
    seat: number,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    { hangMs, signal }: { readonly hangMs: number; readonly signal: AbortSignal },
  ): Promise<CommandEnd> {
    const run = new CliProcess([...args, '--json'], env);
    let ended = 'itself' as CommandEnd['ended'];
    const kill = (how: CommandEnd['ended']) => {
      if (ended === 'itself') ended = how;
      run.child.kill('SIGKILL');
    };
    const aborted = () => kill('killed');
    signal.addEventListener('abort', aborted, { once: true });
    this.#running.set(seat, aborted);
    const progress = new Progress(hangMs, () => kill('hung'));
    const events: CommandEvent[] = [];
    const lines = createInterface({ input: run.child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      const event = eventIn(line);
      if (event === undefined) return;
      if (event.event !== 'progress') events.push(event);
      progress.tell(event.storedBytes ?? events.length);
    });
    try {
      const result = await run.result;
      if (result.code !== null && ended !== 'hung') ended = 'itself';
      return { result, events, ended };
    } finally {
      progress.end();
      this.#running.delete(seat);
      signal.removeEventListener('abort', aborted);
    }
  }
}

function eventIn(line: string): CommandEvent | undefined {
  try {
    return JSON.parse(line) as CommandEvent;
  } catch {
    return undefined; // a line that was cut off
  }
}
