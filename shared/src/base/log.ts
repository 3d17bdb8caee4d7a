/** The part of a structured logger that the code needs; pino's loggers fit. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A log that keeps nothing. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
