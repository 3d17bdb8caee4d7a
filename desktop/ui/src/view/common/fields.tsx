/** Fields of forms, with their labels and what is wrong with them. */

import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from 'react';

interface Told {
  readonly label: string;
  readonly note?: ReactNode;
  readonly problem?: string | undefined;
}

/** What ties a field to its label and to what is said of it. */
interface FieldNames {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

interface LabelledProps extends Told {
  readonly children: (names: FieldNames) => ReactNode;
}

function Labelled({ label, note, problem, children }: LabelledProps) {
  const id = useId();
  const says = problem ?? note;
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-invalid': problem !== undefined,
        'aria-describedby': says ? `${id}-note` : undefined,
      })}
      {says && (
        <span id={`${id}-note`} className={`note${problem ? ' bad' : ''}`}>
          {says}
        </span>
      )}
    </div>
  );
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement>, Told {
  /** Beside the field. */
  readonly after?: ReactNode;
}

export function Field({ label, note, problem, after, ...input }: FieldProps) {
  return (
    <Labelled label={label} note={note} problem={problem}>
      {(names) => (
        <span className={after ? 'field-row' : ''}>
          <input className="input" spellCheck={false} autoComplete="off" {...names} {...input} />
          {after}
        </span>
      )}
    </Labelled>
  );
}

interface LinesProps extends TextareaHTMLAttributes<HTMLTextAreaElement>, Told {}

/** A field of several lines, each as it is typed. */
export function Lines({ label, note, problem, className = '', ...area }: LinesProps) {
  return (
    <Labelled label={label} note={note} problem={problem}>
      {(names) => (
        <textarea
          className={`textarea mono ${className}`}
          spellCheck={false}
          {...names}
          {...area}
        />
      )}
    </Labelled>
  );
}

interface SelectProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  /** True: something else beside it says what it is. */
  readonly bare?: boolean;
  readonly onChange: (value: T) => void;
}

/** One of many, out of a list that opens. */
export function Select<T extends string>(props: SelectProps<T>) {
  const { label, options, value, bare = false, onChange } = props;
  const select = (named: { readonly id: string } | { readonly 'aria-label': string }) => (
    <select
      className="select"
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
      {...named}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
  if (bare) return select({ 'aria-label': label });
  return <Labelled label={label}>{({ id }) => select({ id })}</Labelled>;
}

interface SwitchProps {
  readonly label: string;
  readonly note?: string | undefined;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Switch({ label, note, checked, disabled, onChange }: SwitchProps) {
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        {label}
        {note && <span className="note switch-note">{note}</span>}
      </span>
    </label>
  );
}

/** One of a few, side by side: radio buttons. */
export function Choice<T extends string>({
  label,
  options,
  value,
  onChange,
}: Omit<SelectProps<T>, 'bare'>) {
  const name = useId();
  const [focus, setFocus] = useState(false);
  return (
    <div className="field">
      <span className="label" id={`${name}-label`}>
        {label}
      </span>
      <span className="choice" role="radiogroup" aria-labelledby={`${name}-label`}>
        {options.map((option) => (
          <label
            key={option.value}
            className={`${option.value === value ? 'on' : ''}${option.value === value && focus ? ' focus' : ''}`}
          >
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onFocus={(event) => setFocus(event.target !== null)}
              onBlur={() => setFocus(false)}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </span>
    </div>
  );
}
