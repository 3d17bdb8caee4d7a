/** A command that runs another program of ours, which reads the options and prints its own help. */

import { Command } from 'commander';
import type { CliContext } from './context.ts';

export class OtherProgram extends Command {
  /**
   * Makes the command.
   *
   * @param file path of the program
   */
  constructor(name: string, context: CliContext, file: string) {
    super(name);
    this.argument('[option...]', 'options of that program');
    this.allowUnknownOption().helpOption(false);
    this.option('-h, --help', 'print help, with all options');
    this.action((options: readonly string[], { help }: { readonly help?: true }) =>
      context.become(file, help === true ? ['--help'] : options),
    );
  }
}
