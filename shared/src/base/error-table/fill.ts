/** Fills in the texts of the tables and of interfaces. */

/** Replaces each name between braces with its value; one without a value stays. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
