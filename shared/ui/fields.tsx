/** Fields of forms, with their labels and errors. */

import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from 'react';

/** The texts of a field. A problem replaces the note. */
interface Told {
  readonly label: string;
  readonly note?: ReactNode;
  readonly problem?: string | undefined;
}

/** The attributes that tie a field to its label and to its note. */
interface FieldNames {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

interface LabelledProps extends Told {
  /** Draws the field itself. */
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
        <span
          id={`${id}-note`}
          className={`note${problem ? ' bad' : ''}`}
          role={problem ? 'alert' : undefined}
        >
          {says}
        </span>
      )}
    </div>
  );
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement>, Told {
  /** Element beside the field. */
  readonly after?: ReactNode;
}

/** A field of one line. */
export function Field({ label, note, problem, after, ...input }: FieldProps) {
  return (
    <Labelled label={label} note={note} problem={problem}>
      {(names) => {
        const field = (
          <input className="input" spellCheck={false} autoComplete="off" {...names} {...input} />
        );
        if (after === undefined) return field;
        return (
          <span className="field-row">
            {field}
            {after}
          </span>
        );
      }}
    </Labelled>
  );
}

interface LinesProps extends TextareaHTMLAttributes<HTMLTextAreaElement>, Told {}

/** A text field of several lines. */
export function Lines({ label, note, problem, className = '', ...area }: LinesProps) {
  return (
    <Labelled label={label} note={note} problem={problem}>
      {(names) => (
        <textarea
          className={`textarea ${className}`}
          spellCheck={false}
          autoComplete="off"
          {...names}
          {...area}
        />
      )}
    </Labelled>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly note?: string | undefined;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

interface SelectProps<T extends string> extends ChoiceProps<T> {
  /** True to draw no label: the label is then only for screen readers. */
  readonly bare?: boolean;
}

/** Lets the user choose one of many options from a drop-down list. */
export function Select<T extends string>(props: SelectProps<T>) {
  const { label, note, options, value, bare = false, onChange } = props;
  const select = (named: FieldNames | { readonly 'aria-label': string }) => (
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
  return (
    <Labelled label={label} note={note}>
      {select}
    </Labelled>
  );
}

interface SwitchProps {
  readonly label: ReactNode;
  readonly note?: string | undefined;
  readonly checked: boolean;
  readonly disabled?: boolean | undefined;
  readonly onChange: (checked: boolean) => void;
}

/** A switch. Its accessible name is the label alone; the note is its description. */
export function Switch({ label, note, checked, disabled, onChange }: SwitchProps) {
  const id = useId();
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        disabled={disabled}
        aria-checked={checked}
        aria-labelledby={id}
        aria-describedby={note ? `${id}-note` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="switch-words">
        <span id={id}>{label}</span>
        {note && (
          <span id={`${id}-note`} className="note">
            {note}
          </span>
        )}
      </span>
    </label>
  );
}

/** Lets the user choose one of a few options, drawn as radio buttons side by side. */
export function Choice<T extends string>({
  label,
  note,
  options,
  value,
  onChange,
}: ChoiceProps<T>) {
  const name = useId();
  const [focus, setFocus] = useState(false);
  return (
    <div className="field">
      <span className="label" id={`${name}-label`}>
        {label}
      </span>
      <span
        className="choice"
        role="radiogroup"
        aria-labelledby={`${name}-label`}
        aria-describedby={note ? `${name}-note` : undefined}
      >
        {options.map((option) => (
          <label
            key={option.value}
            className={`${option.value === value ? 'on' : ''}${option.value === value && focus ? ' focus' : ''}`}
          >
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onFocus={(event) => setFocus(showsFocus(event.target))}
              onBlur={() => setFocus(false)}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </span>
      {note && (
        <span id={`${name}-note`} className="note">
          {note}
        </span>
      )}
    </div>
  );
}

/** Returns true if focus should be shown; always in old Chromium, which lacks the selector. */
function showsFocus(element: Element): boolean {
  try {
    return element.matches(':focus-visible');
  } catch {
    return true;
  }
}
