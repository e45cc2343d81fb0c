# What is kept apart: secrets and local inputs.
exhibit_unit_test(needles exhibit_record)
exhibit_unit_test(leaks exhibit_record)
exhibit_unit_test(leak_check exhibit_record)
