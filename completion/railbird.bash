# Completion for bash: commands, options, engines and samplers as `railbird` has them.

# Is the program's name there already? Behind it everything is its own, and files to us. OPTIONS... take a word.
_railbird_in_program() {
    local i takes=" $* "
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        # bash takes "=" and ":" for words of their own
        = | :) ;;
        -*) [[ $takes != *" ${COMP_WORDS[i]} "* ]] || i=$((i + 1)) ;;
        *)
            case ${COMP_WORDS[i - 1]} in = | :) continue ;; esac
            compopt -o default
            return 0
            ;;
        esac
    done
    return 1
}

_railbird() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local engines="djit fasttrack st su so shb wcp syncp"
    local samplers="all none random: literace tl-fx g-ad g-fx rnd10 rnd25 ucp pacer: rpt: static:"
    local online="adaptive crsampler: datacollider:"
    local keys="sampler= engine= budget= seed= memory= report= log_path= suppressions= exitcode= halt_on_error=
        atexit_sleep_ms= stats= record= looks= stack_depth= watch= max_reports= report_bugs= strict= verbose=
        unseen= unseen_hooks= partial="
    local words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -gt 1 ]; then
        case $command in
        cc | c++) # the compiler's arguments are files to us
            compopt -o default
            return
            ;;
        run) ! _railbird_in_program -o || return ;;
        watch) ! _railbird_in_program -o --mode --per-second --rate --window --module --budget || return ;;
        record) ! _railbird_in_program -o --output --sampler --merge || return ;;
        esac
    fi
    case $before in
    --engine | --engines) words=$engines ;;
    --sampler | --samplers) words=$samplers ;;
    --format)
        words="text json sarif html"
        [ "$command" != inject ] || words="rbt std"
        ;;
    =)
        case ${COMP_WORDS[COMP_CWORD - 2]} in
        sampler) words="$samplers $online" ;;
        engine) words=${engines% shb*} ;; # the others need a whole trace
        esac
        ;;
    --kind) words="ww rw wr" ;;
    --encoding) words="tight paper" ;;
    --mode) words="clock collide both" ;;
    --per-second | --rate | --window | --module | --budget) ;;
    -o)
        if [ "$command" = run ] || [ "$command" = watch ]; then
            words=$keys
            compopt -o nospace
        fi
        ;;
    --output | --races | --html | --csv | --counterexamples | --baseline | --suppressions | --debug-path) ;;
    *)
        if [ "$COMP_CWORD" -eq 1 ]; then
            words="cc c++ run watch record report doctor analyze compare inject eval trace --version --help"
        elif [[ $word == -* ]]; then
            case $command in
            run) words="-o --json --self-test --help" ;;
            watch) words="--mode --per-second --rate --window --module --budget --candidates --no-atomics -o --json --help" ;;
            record) words="--output --sampler --no-functions --merge --help" ;;
            report) words="--format -o --baseline --suppressions --debug-path --partial --json --verbose --help" ;;
            doctor) words="--json --help" ;;
            analyze) words="--engine --sampler --seed --races --lenient --json --help" ;;
            compare) words="--engines --samplers --runs --seed --lenient --json --html --help" ;;
            eval) words="--engines --samplers --runs --seed --jobs --json --csv --html --counterexamples --limit
                --shrink-seconds --help" ;;
            inject) words="--traces --output --verify --distance --kind --window --negatives --encoding --format --jobs
                --time-limit --seed --json --help" ;;
            trace) words="--json --lenient --from --count --output --events --threads --locks --variables --sync --race
                --nesting --functions --sharing --rich --seed --help" ;;
            esac
        elif [ "$command" = trace ] && [ "$COMP_CWORD" -eq 2 ]; then
            words="info cat import export check gen"
        fi
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        compopt -o default
    fi
}
complete -F _railbird railbird
