/**
 * The table of reasons why a part of a typed text is not taken: a command of curl, or a pattern of
 * URLs. Interfaces have the same sentences in the reader's language.
 */

export const TEXT_FAULTS = {
  'command-too-long': 'the command is too long',
  'too-many-words': 'the command has too many words',
  'needs-shell': '"{char}" needs a shell, and no shell is run: paste the curl command alone',
  'open-quote': 'a quote in the command is not closed',
  'no-such-character': 'a character in the command does not exist',
  'has-variable': 'the command has a variable or another command in it; no shell is run',
  'not-curl': '"{program}" is not curl',
  'too-many-downloads': 'the commands stand for more than {n} downloads',
  'no-url': 'the curl command has no URL',
  'bad-url': 'the curl command has a URL that cannot be read',
  'other-scheme': 'curl {scheme}: only http and https can be taken from it',
  'names-not-each': 'curl -o: it does not name each of the files of the command',
  'option-unknown': 'curl {option}: what this option does is not known here',
  'option-without-value': 'curl {option}: its value is missing',
  'option-sends': 'curl {option}: it sends something, and a download only asks for a file',
  'option-head': 'curl {option}: it asks for the header alone, without the file',
  'option-include': 'curl {option}: it writes the header into the file',
  'option-range': 'curl {option}: it asks for a part of the file, and a download fetches all of it',
  'option-insecure':
    'curl {option}: it accepts any certificate, and downloads always check whose it is',
  'option-config': 'curl {option}: it reads options from a file',
  'option-next': 'curl {option}: give each command on a line of its own',
  'option-cookie-file': 'curl {option}: it reads cookies from a file',
  'option-field-file': 'curl {option} @: it reads fields from a file',
  'option-not-field': 'curl {option}: it is not "Name: value"',
  'option-prints': 'curl {option} -: it prints the file',
  'option-method': 'curl {option} {method}: a download can only GET a file',
  'option-not-rate': 'curl {option}: its value is not a rate',
  'option-no-password': 'curl {option}: it asks for a password, which is not in the command',
  'pattern-too-many': 'the pattern stands for more than {n} URLs',
  'pattern-too-long': 'the pattern is too long for so many URLs',
  'pattern-no-range': '{range} is not a range',
} as const;

export type TextFaultCode = keyof typeof TEXT_FAULTS;
